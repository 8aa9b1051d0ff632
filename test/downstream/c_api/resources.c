/* Pointers into Python's objects that stay good, from C. */
#include <Python.h>
#include <memarray/interop/py_resource.h>

static char const* const kinds[] = {"bytes", "bytearray", "capsule", "function", "utf8", "utf8_and_size"};

static char const* ask(char const* kind, PyObject* object, Py_ssize_t* size, PyResource* res) {
  if (strcmp(kind, kinds[0]) == 0) return PyBytes_AsStringRes(object, res);
  if (strcmp(kind, kinds[1]) == 0) return PyByteArray_AsStringRes(object, res);
  if (strcmp(kind, kinds[2]) == 0) return PyCapsule_GetNameRes(object, res);
  if (strcmp(kind, kinds[3]) == 0) return PyEval_GetFuncNameRes(object, res);
  if (strcmp(kind, kinds[4]) == 0) return PyUnicode_AsUTF8Res(object, res);
  return PyUnicode_AsUTF8AndSizeRes(object, size, res);
}

/* text_after(kind, make, spoil): the text of make() once no other reference to it is left and spoil() was called. */
static PyObject* text_after(PyObject* self, PyObject* args) {
  char const* kind;
  PyObject *make, *spoil, *object, *result;
  PyResource res;
  Py_ssize_t size = -1;
  char const* text;
  (void)self;
  if (!PyArg_ParseTuple(args, "sOO", &kind, &make, &spoil)) return NULL;
  object = PyObject_CallNoArgs(make);
  if (!object) return NULL;
  text = ask(kind, object, &size, &res);
  Py_DECREF(object);
  if (!text) return NULL;
  object = PyObject_CallNoArgs(spoil);
  Py_XDECREF(object);
  result = object ? PyBytes_FromString(text) : NULL;
  if (result && size != -1 && size != PyBytes_GET_SIZE(result)) {
    PyErr_SetString(PyExc_AssertionError, "another size");
    Py_CLEAR(result);
  }
  PyResource_Close(&res);
  PyResource_Close(&res);
  return result;
}

/* scaled(array or view, factor, meanwhile): multiplies the doubles by the factor; meanwhile() is called with the
   pointer held. */
static PyObject* scaled(PyObject* self, PyObject* args) {
  PyObject *object, *meanwhile, *done;
  double factor;
  Py_ssize_t count;
  PyResource res;
  double* numbers;
  (void)self;
  if (!PyArg_ParseTuple(args, "OndO", &object, &count, &factor, &meanwhile)) return NULL;
  numbers = (double*)MemArray_AsPointerRes(object, 1, &res);
  if (!numbers && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    numbers = (double*)BufferView_AsPointerRes(object, 1, &res);
  }
  if (!numbers) return NULL;
  done = PyObject_CallNoArgs(meanwhile);
  Py_BEGIN_ALLOW_THREADS;
  for (Py_ssize_t i = 0; i < count; ++i) numbers[i] *= factor;
  PyResource_Close(&res); /* without the GIL */
  Py_END_ALLOW_THREADS;
  return done;
}

static PyMethodDef methods[] = {
    {"text_after", text_after, METH_VARARGS, NULL},
    {"scaled", scaled, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "c_resources", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_c_resources(void) { return PyModule_Create(&definition); }
