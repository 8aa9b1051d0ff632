#include "helpers.hpp"
#include "py_ref.hpp"
#include "shown.hpp"

namespace memarray::python {

PyObject* call_helper(char const* name, PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* const helpers = PyImport_ImportModule("memarray._helpers");
  PyObject* const helper = helpers ? PyObject_GetAttrString(helpers, name) : nullptr;
  PyObject* const first = helper ? PyTuple_Pack(1, self) : nullptr;
  PyObject* const all = first ? (args ? PySequence_Concat(first, args) : Py_NewRef(first)) : nullptr;
  PyObject* const result = all ? PyObject_Call(helper, all, keywords) : nullptr;
  Py_XDECREF(all);
  Py_XDECREF(first);
  Py_XDECREF(helper);
  Py_XDECREF(helpers);
  return result;
}

PyObject* type_attribute(PyTypeObject* type, PyObject* name) noexcept {
#if PY_VERSION_HEX >= 0x030d0000
  return _PyType_LookupRef(type, name);
#else
  return Py_XNewRef(_PyType_Lookup(type, name));
#endif
}

PyObject* dict_item(PyObject* dict, PyObject* key) noexcept {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* item = nullptr;
  static_cast<void>(PyDict_GetItemRef(dict, key, &item));
  return item;
#else
  return Py_XNewRef(PyDict_GetItemWithError(dict, key));
#endif
}

bool find_attribute(PyObject* object, PyObject* name, PyObject*& attribute) {
  attribute = PyObject_GetAttr(object, name);
  if (!attribute && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
  return attribute != nullptr;
}

bool find_attribute(PyObject* object, char const* name, PyObject*& attribute) {
  PyObject* const word = PyUnicode_FromString(name);
  bool const found = word && find_attribute(object, word, attribute);
  Py_XDECREF(word);
  return found;
}

bool read_shape(PyObject* object, std::vector<std::int64_t>& shape) {
  if (PyLong_Check(object) && !PyBool_Check(object)) {
    PyRef const one = PyRef::steal(PyTuple_Pack(1, object));
    return one && read_shape(one.get(), shape);
  }
  PyObject* const items = PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object)
                              ? PySequence_Tuple(object)
                              : nullptr;
  if (!items) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "a shape is a sequence of integers, such as [2, 4, 7], not %s",
                   shown(object).c_str());
    return false;
  }
  Py_ssize_t const count = PyTuple_GET_SIZE(items);
  shape.clear();
  for (Py_ssize_t d = 0; d < count; ++d) {
    PyObject* const item = PyTuple_GET_ITEM(items, d);
    PyObject* const index = PyBool_Check(item) ? nullptr : PyNumber_Index(item);
    if (!index) {
      PyErr_Format(PyExc_TypeError, "a shape is a sequence of integers; extent %zd is %s", d, shown(item).c_str());
      break;
    }
    int overflow = 0;
    long long const extent = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow != 0) {
      PyErr_Format(PyExc_OverflowError, "extent %zd of the shape, %s, does not fit into 64 bits", d,
                   shown(item).c_str());
      break;
    }
    shape.push_back(extent);
  }
  Py_DECREF(items);
  return !PyErr_Occurred();
}

}  // namespace memarray::python
