// Calls of the C exchange API as a consumer makes them, and the least that takes a tensor: seconds per call, by the
// thread's own clock.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlpack/dlpack.h>
#include <time.h>

static PyObject* version_names;
static PyObject* newest;

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

static PyObject* lend(PyObject* module, PyObject* args) {
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

// The newest capsule, taken as an importer does, and nothing made of it.
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

static PyMethodDef methods[] = {
    {"lend", lend, METH_VARARGS, NULL},
    {"look", look, METH_VARARGS, NULL},
    {"take", take, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, .m_name = "exchange_calls", .m_size = -1,
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit_exchange_calls(void) {
  version_names = Py_BuildValue("(s)", "max_version");
  newest = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  return version_names && newest ? PyModule_Create(&module_def) : NULL;
}
