// The floor of the exchange rows: the cost of exporting memory in plain C, with nothing checked.
// One managed tensor of each kind per owner, shared by all its capsules and counted; no lock, no lease state.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlpack/dlpack.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
  atomic_long count;
  DLManagedTensor plain;
  DLManagedTensorVersioned versioned;
  int64_t shape[1];
  int64_t strides[1];
} Box;

typedef struct {
  PyObject_HEAD Box* box;
  atomic_long word;
} Owner;

static PyObject* max_version_name;

static void drop(Box* box) {
  if (atomic_fetch_sub_explicit(&box->count, 1, memory_order_acq_rel) == 1) {
    free(box->plain.dl_tensor.data);
    free(box);
  }
}

static void delete_plain(DLManagedTensor* tensor) { drop(tensor->manager_ctx); }
static void delete_versioned(DLManagedTensorVersioned* tensor) { drop(tensor->manager_ctx); }

static void destroy_plain(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    delete_plain(PyCapsule_GetPointer(capsule, "dltensor"));
  }
}

static void destroy_versioned(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    delete_versioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
  }
}

static PyObject* owner_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  Py_ssize_t size;
  if (!PyArg_ParseTuple(args, "n", &size)) return NULL;
  Owner* self = (Owner*)type->tp_alloc(type, 0);
  Box* box = calloc(1, sizeof(Box));
  void* data = aligned_alloc(64, ((size_t)size * sizeof(float) + 63) / 64 * 64);
  if (!self || !box || !data) {
    Py_XDECREF(self);
    free(box);
    free(data);
    return PyErr_NoMemory();
  }
  box->count = 1;
  box->shape[0] = size;
  box->strides[0] = 1;
  DLTensor* tensor = &box->plain.dl_tensor;
  tensor->data = data;
  tensor->device = (DLDevice){kDLCPU, 0};
  tensor->ndim = 1;
  tensor->dtype = (DLDataType){kDLFloat, 32, 1};
  tensor->shape = box->shape;
  tensor->strides = box->strides;
  box->plain.manager_ctx = box;
  box->plain.deleter = delete_plain;
  box->versioned.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  box->versioned.manager_ctx = box;
  box->versioned.deleter = delete_versioned;
  box->versioned.dl_tensor = *tensor;
  self->box = box;
  self->word = -1;
  return (PyObject*)self;
}

static void owner_dealloc(PyObject* self) {
  if (((Owner*)self)->box) drop(((Owner*)self)->box);
  Py_TYPE(self)->tp_free(self);
}

static PyObject* owner_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* names) {
  Box* box = ((Owner*)self)->box;
  int versioned = 0;
  Py_ssize_t count = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyTuple_GET_ITEM(names, i) != max_version_name) continue;
    PyObject* value = args[nargs + i];
    versioned = PyTuple_Check(value) && PyLong_AsLong(PyTuple_GET_ITEM(value, 0)) >= 1;
  }
  atomic_fetch_add_explicit(&box->count, 1, memory_order_relaxed);
  PyObject* capsule = versioned ? PyCapsule_New(&box->versioned, "dltensor_versioned", destroy_versioned)
                                : PyCapsule_New(&box->plain, "dltensor", destroy_plain);
  if (!capsule) drop(box);
  return capsule;
}

static PyObject* owner_dlpack_device(PyObject* self, PyObject* ignored) {
  (void)self;
  (void)ignored;
  return Py_BuildValue("(ii)", kDLCPU, 0);
}

static PyObject* owner_enter(PyObject* self, PyObject* ignored) {
  (void)ignored;
  long expected = -1;
  if (!atomic_compare_exchange_strong(&((Owner*)self)->word, &expected, 0)) {
    PyErr_SetString(PyExc_RuntimeError, "held");
    return NULL;
  }
  return Py_NewRef(self);
}

static PyObject* owner_exit(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  (void)args;
  (void)nargs;
  atomic_store_explicit(&((Owner*)self)->word, -1, memory_order_release);
  Py_RETURN_NONE;
}

static PyMethodDef owner_methods[] = {
    {"__dlpack__", (PyCFunction)(void*)owner_dlpack, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"__dlpack_device__", owner_dlpack_device, METH_NOARGS, NULL},
    {"__enter__", owner_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void*)owner_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject owner_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor_peer.Owner",
    .tp_basicsize = sizeof(Owner),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = owner_new,
    .tp_dealloc = owner_dealloc,
    .tp_methods = owner_methods,
};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, .m_name = "floor_peer", .m_size = -1};

PyMODINIT_FUNC PyInit_floor_peer(void) {
  max_version_name = PyUnicode_InternFromString("max_version");
  if (!max_version_name || PyType_Ready(&owner_type) < 0) return NULL;
  PyObject* module = PyModule_Create(&module_def);
  if (!module) return NULL;
  if (PyModule_AddObjectRef(module, "Owner", (PyObject*)&owner_type) < 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
