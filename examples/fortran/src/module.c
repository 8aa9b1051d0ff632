/* The Python module `poisson`, over the functions of poisson.f90. */
#include <Python.h>
#include <memarray/interop/c_arrays.h>
#include <memarray/interop/c_views.h>

/* Results of the functions in Fortran. */
enum { SUCCEEDED = 0, FAILED = -1, NOT_A_MATRIX = 1, NO_COLUMNS = 2, SHAPES_DIFFER = 3, NO_MEMORY = 4 };

int poisson_relax(MemArrayArrayRef potential, MemArrayViewRef charge, int steps, double* change);
int poisson_addresses(MemArrayArrayRef potential, MemArrayViewRef charge, intptr_t* first_u, intptr_t* first_f);

/* Sets the Python exception for a result other than 0, and returns NULL. */
static PyObject* raise_status(int status) {
  switch (status) {
    case NOT_A_MATRIX: PyErr_SetString(PyExc_TypeError, "expected float64 with two dimensions, on the host"); break;
    case NO_COLUMNS:
      PyErr_SetString(PyExc_ValueError,
                      "the charge is not column-major: pass numpy.asfortranarray(x), or x.T if its rows are columns");
      break;
    case SHAPES_DIFFER:
      PyErr_SetString(PyExc_ValueError, "for a potential of shape (m, n) the charge has shape (n, m)");
      break;
    case NO_MEMORY: PyErr_NoMemory(); break;
    default: memarray_api->raise_last_error("relaxing");
  }
  return NULL;
}

/* Reads both refs. Returns 0, or -1 with a Python exception and without refs. */
static int read_refs(PyObject* potential, PyObject* charge, MemArrayArrayRef* array, MemArrayViewRef* view) {
  *array = memarray_api->arrays->array_from_object(potential);
  if (!*array) return -1;
  *view = memarray_api->views->view_from_object(charge);
  if (*view) return 0;
  memarray_api->arrays->release_array(*array);
  return -1;
}

static PyObject* relax(PyObject* self, PyObject* args) {
  PyObject *potential, *charge;
  MemArrayArrayRef array;
  MemArrayViewRef view;
  int steps, status;
  double change;
  (void)self;
  if (!PyArg_ParseTuple(args, "OOi", &potential, &charge, &steps)) return NULL;
  if (read_refs(potential, charge, &array, &view) != 0) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = poisson_relax(array, view, steps, &change);
  Py_END_ALLOW_THREADS;
  memarray_api->views->release_view(view);
  memarray_api->arrays->release_array(array);
  return status == SUCCEEDED ? PyFloat_FromDouble(change) : raise_status(status);
}

static PyObject* addresses(PyObject* self, PyObject* args) {
  PyObject *potential, *charge;
  MemArrayArrayRef array;
  MemArrayViewRef view;
  intptr_t first_u, first_f;
  int status;
  (void)self;
  if (!PyArg_ParseTuple(args, "OO", &potential, &charge)) return NULL;
  if (read_refs(potential, charge, &array, &view) != 0) return NULL;
  status = poisson_addresses(array, view, &first_u, &first_f);
  memarray_api->views->release_view(view);
  memarray_api->arrays->release_array(array);
  return status == SUCCEEDED ? Py_BuildValue("nn", (Py_ssize_t)first_u, (Py_ssize_t)first_f) : raise_status(status);
}

static PyMethodDef methods[] = {
    {"relax", relax, METH_VARARGS,
     "relax(potential, charge, steps, /)\n--\n\nRelaxes the potential in place, without the GIL. Returns the largest "
     "change in the last step."},
    {"addresses", addresses, METH_VARARGS,
     "addresses(potential, charge, /)\n--\n\nReturns the addresses of u(1, 1) and f(1, 1) in Fortran."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "poisson", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_poisson(void) {
  if (memarray_import() != 0) return NULL;
  return PyModule_Create(&definition);
}
