// Calls of the C exchange API as a consumer makes them, and the fewest operations that import a tensor. They are timed
// by the thread's own clock, in seconds per call.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlpack/dlpack.h>
#include <stdbool.h>
#include <time.h>

static PyObject* version_names;
static PyObject* newest;
static PyObject* is_neg;
static PyObject* requires_grad;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static DLPackExchangeAPI const* api_of(PyObject* object) {
  PyObject* capsule = PyObject_GetAttrString((PyObject*)Py_TYPE(object), "__dlpack_c_exchange_api__");
  if (!capsule) return NULL;
  void* api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  Py_DECREF(capsule);
  return api;
}

static PyObject* export_tensor(PyObject* module, PyObject* args) {
  (void)module;
  PyObject* object;
  long count;
  if (!PyArg_ParseTuple(args, "Ol", &object, &count)) return NULL;
  DLPackExchangeAPI const* api = api_of(object);
  if (!api) return NULL;
  double start = now();
  for (long i = 0; i < count; ++i) {
    DLManagedTensorVersioned* tensor = NULL;
    if (api->managed_tensor_from_py_object_no_sync(object, &tensor) != 0) return NULL;
    tensor->deleter(tensor);
  }
  return PyFloat_FromDouble((now() - start) / (double)count);
}

static PyObject* look(PyObject* module, PyObject* args) {
  (void)module;
  PyObject* object;
  long count;
  if (!PyArg_ParseTuple(args, "Ol", &object, &count)) return NULL;
  DLPackExchangeAPI const* api = api_of(object);
  if (!api) return NULL;
  if (!api->dltensor_from_py_object_no_sync) {
    PyErr_SetString(PyExc_TypeError, "its tensors cannot be looked at");
    return NULL;
  }
  double start = now();
  for (long i = 0; i < count; ++i) {
    DLTensor tensor;
    if (api->dltensor_from_py_object_no_sync(object, &tensor) != 0) return NULL;
  }
  return PyFloat_FromDouble((now() - start) / (double)count);
}

// Imports a capsule of the newest version, as a consumer does, and drops its tensor.
static PyObject* take(PyObject* module, PyObject* object) {
  (void)module;
  PyObject* method = PyObject_GetAttrString(object, "__dlpack__");
  if (!method) return NULL;
  PyObject* capsule = PyObject_Vectorcall(method, &newest, 0, version_names);
  Py_DECREF(method);
  if (!capsule) return NULL;
  DLManagedTensorVersioned* tensor = PyCapsule_GetPointer(capsule, "dltensor_versioned");
  if (!tensor || PyCapsule_SetName(capsule, "used_dltensor_versioned") != 0) return NULL;
  if (tensor->deleter) tensor->deleter(tensor);
  Py_DECREF(capsule);
  Py_RETURN_NONE;
}

// Imports a tensor through the exchange table of its type, with the two checks that a real consumer must make, and
// drops it.
static PyObject* take_from_table(PyObject* module, PyObject* object) {
  (void)module;
  static PyTypeObject* known;
  static DLPackExchangeAPI const* api;
  if (Py_TYPE(object) != known) {
    if (!(api = api_of(object))) return NULL;
    known = Py_TYPE(object);
  }
  DLManagedTensorVersioned* tensor = NULL;
  if (api->managed_tensor_from_py_object_no_sync(object, &tensor) != 0) return NULL;
  PyObject* is_negated = PyObject_VectorcallMethod(is_neg, &object, 1, NULL);
  PyObject* has_gradient = is_negated ? PyObject_GetAttr(object, requires_grad) : NULL;
  tensor->deleter(tensor);
  if (!has_gradient) {
    Py_XDECREF(is_negated);
    return NULL;
  }
  bool is_plain = is_negated == Py_False && has_gradient == Py_False;
  Py_DECREF(is_negated);
  Py_DECREF(has_gradient);
  return PyBool_FromLong(is_plain);
}

// An object that keeps an array alive, with room for its description; nothing is read.
typedef struct {
  PyObject_HEAD PyObject* array;
  char room[464];
} Kept;

static void drop(PyObject* self) {
  Py_DECREF(((Kept*)self)->array);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyType_Slot kept_slots[] = {{Py_tp_dealloc, drop}, {0, NULL}};
static PyType_Spec kept_spec = {"exchange_calls.Kept", sizeof(Kept), 0, Py_TPFLAGS_DEFAULT, kept_slots};
static PyTypeObject* kept_type;

static PyObject* keep(PyObject* module, PyObject* array) {
  (void)module;
  Kept* kept = PyObject_New(Kept, kept_type);
  if (!kept) return NULL;
  Py_INCREF(array);
  kept->array = array;
  return (PyObject*)kept;
}

static PyMethodDef methods[] = {
    {"export_tensor", export_tensor, METH_VARARGS, NULL},
    {"look", look, METH_VARARGS, NULL},
    {"take", take, METH_O, NULL},
    {"take_from_table", take_from_table, METH_O, NULL},
    {"keep", keep, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, .m_name = "exchange_calls", .m_size = -1,
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit_exchange_calls(void) {
  version_names = Py_BuildValue("(s)", "max_version");
  newest = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  is_neg = PyUnicode_InternFromString("is_neg");
  requires_grad = PyUnicode_InternFromString("requires_grad");
  kept_type = (PyTypeObject*)PyType_FromSpec(&kept_spec);
  bool made = version_names && newest && is_neg && requires_grad && kept_type;
  return made ? PyModule_Create(&module_def) : NULL;
}
