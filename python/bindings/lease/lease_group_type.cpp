#include "lease/lease_group_type.hpp"

#include "lease/lease_type.hpp"
#include "python_errors.hpp"
#include "shown.hpp"

#include <new>
#include <vector>

namespace memarray::python {
namespace {

struct PyLeases {
  PyObject_HEAD PyObject* leases;  // a tuple of Lease
  Timeout timeout;
};

PyTypeObject* lease_group_type = nullptr;

PyLeases& leases_of(PyObject* self) noexcept { return *reinterpret_cast<PyLeases*>(self); }

PyObject* create(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  Timeout timeout = no_wait;
  if (keywords) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(keywords, &position, &key, &value)) {
      if (PyUnicode_CompareWithASCIIString(key, "timeout") != 0)
        return PyErr_Format(PyExc_TypeError, "leases() got an unexpected keyword argument '%.80U'", key);
      if (!read_timeout(value, timeout)) return nullptr;
    }
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
    if (!lease_of(PyTuple_GET_ITEM(args, i)))
      return PyErr_Format(PyExc_TypeError, "leases() takes leases, such as a.read() and b.write(), not %s",
                          shown(PyTuple_GET_ITEM(args, i)).c_str());
  PyObject* const self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  new (&leases_of(self).timeout) Timeout(timeout);
  leases_of(self).leases = Py_NewRef(args);
  return self;
}

std::vector<detail::LeaseCore*> cores(PyObject* self) {
  std::vector<detail::LeaseCore*> result;
  PyObject* const leases = leases_of(self).leases;
  result.reserve(static_cast<std::size_t>(PyTuple_GET_SIZE(leases)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(leases); ++i) result.push_back(lease_of(PyTuple_GET_ITEM(leases, i)));
  return result;
}

PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    detail::enter_all(cores(self), leases_of(self).timeout, traced_location());
    return Py_NewRef(leases_of(self).leases);
  });
}

PyObject* exit(PyObject* self, PyObject*) {
  return guarded([&] {
    // cores(self) would allocate, and closing must not fail.
    PyObject* const leases = leases_of(self).leases;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(leases); ++i) lease_of(PyTuple_GET_ITEM(leases, i))->exit();
    return Py_NewRef(Py_None);
  });
}

void dealloc(PyObject* self) {
  Py_XDECREF(leases_of(self).leases);
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {{"__enter__", enter, METH_NOARGS,
                          "__enter__($self, /)\n--\n\nOpens all leases or none, and returns them as a tuple."},
                         {"__exit__", exit, METH_VARARGS, "__exit__($self, /, *args)\n--\n\nCloses all leases."},
                         {nullptr, nullptr, 0, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_doc,
     const_cast<char*>(
         "leases(*leases, timeout=0)\n--\n\n"
         "Opens several leases in one 'with' statement, or none: `with leases(a.read(), b.write()) as (x, y):`.\n\n"
         "timeout replaces the timeouts of the single leases: seconds for all of them together, or None to wait "
         "until Ctrl-C. Callers that lease the same arrays in different orders do not deadlock. If one lease is "
         "refused, no contents change, and arrays whose leases have a device= are where they were, unless others use "
         "them meanwhile.")},
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_methods, methods},
    {0, nullptr}};

PyType_Spec spec = {"memarray.leases", sizeof(PyLeases), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

int add_lease_group_type(PyObject* module) {
  if (!lease_group_type) {
    lease_group_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (!lease_group_type) return -1;
  }
  return PyModule_AddObjectRef(module, "leases", reinterpret_cast<PyObject*>(lease_group_type));
}

}  // namespace memarray::python
