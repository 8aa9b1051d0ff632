#include "helpers.hpp"
#include "py_ref.hpp"
#include "shown.hpp"

#include <string>
#include <string_view>

namespace memarray::python {

PyObject* call_helper(char const* module, char const* name, PyObject* self, PyObject* args, PyObject* keywords) {
  PyRef const imported = PyRef::steal(PyImport_ImportModule(module));
  PyRef const helper = PyRef::steal(imported ? PyObject_GetAttrString(imported.get(), name) : nullptr);
  PyRef const first = PyRef::steal(helper ? PyTuple_Pack(1, self) : nullptr);
  if (!first) return nullptr;
  PyRef const all = args ? PyRef::steal(PySequence_Concat(first.get(), args)) : PyRef::borrow(first.get());
  return all ? PyObject_Call(helper.get(), all.get(), keywords) : nullptr;
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

bool find_attribute(PyObject* object, PyObject* name, PyRef& attribute) {
  attribute = PyRef::steal(PyObject_GetAttr(object, name));
  if (!attribute && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
  return static_cast<bool>(attribute);
}

bool find_attribute(PyObject* object, char const* name, PyRef& attribute) {
  PyRef const word = PyRef::steal(PyUnicode_FromString(name));
  return word && find_attribute(object, word.get(), attribute);
}

PyRef take_error() {
#if PY_VERSION_HEX >= 0x030c0000
  return PyRef::steal(PyErr_GetRaisedException());
#else
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyRef const type_taken = PyRef::steal(type);
  PyRef const traceback_taken = PyRef::steal(traceback);
  if (value && traceback) PyException_SetTraceback(value, traceback);
  return PyRef::steal(value);
#endif
}

void set_error(PyRef exception) {
#if PY_VERSION_HEX >= 0x030c0000
  PyErr_SetRaisedException(exception.release());
#else
  PyObject* const type = Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())));
  PyObject* const traceback = PyException_GetTraceback(exception.get());
  PyErr_Restore(type, exception.release(), traceback);
#endif
}

bool clear_ordinary_error() noexcept {
  bool const is_ordinary =
      !PyErr_Occurred() || (PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError));
  if (is_ordinary) PyErr_Clear();
  return is_ordinary;
}

bool is_integer(PyObject* object) noexcept {
  if (PyLong_CheckExact(object)) return true;
  return PyIndex_Check(object) && !PyBool_Check(object) &&
         !std::string_view(Py_TYPE(object)->tp_name).starts_with("numpy.bool");
}

bool read_integers(PyObject* object, IntegersNamed const& names, std::vector<std::int64_t>& numbers) {
  if (is_integer(object) && (PyLong_Check(object) || !Py_TYPE(object)->tp_iter)) {
    PyRef const one = PyRef::steal(PyTuple_Pack(1, object));
    return one && read_integers(one.get(), names, numbers);
  }
  bool const is_sequence = PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object);
  PyRef const items = PyRef::steal(is_sequence ? PySequence_Tuple(object) : nullptr);
  if (!items) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "%s a sequence of integers, such as %s, not %s", names.are, names.example,
                   shown(object).c_str());
    return false;
  }
  Py_ssize_t const count = PyTuple_GET_SIZE(items.get());
  numbers.clear();
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const item = PyTuple_GET_ITEM(items.get(), i);
    PyRef const index = PyRef::steal(is_integer(item) ? PyNumber_Index(item) : nullptr);
    if (!index) {
      if (!clear_ordinary_error()) return false;
      PyErr_Format(PyExc_TypeError, "%s a sequence of integers; %s %zd is %s", names.are, names.one, i,
                   shown(item).c_str());
      break;
    }
    int overflow = 0;
    long long const number = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    if (overflow != 0) {
      PyErr_Format(PyExc_OverflowError, "%s %zd of %s, %s, does not fit into 64 bits", names.one, i, names.all,
                   shown(item).c_str());
      break;
    }
    numbers.push_back(number);
  }
  return !PyErr_Occurred();
}

bool read_shape(PyObject* object, std::vector<std::int64_t>& shape) {
  return read_integers(object, shape_names, shape);
}

bool read_escaped_views(PyObject* object, EscapedViews& policy) {
  bool const is_text = object && PyUnicode_Check(object);
  if (is_text)
    for (EscapedViews const each : {EscapedViews::snapshot, EscapedViews::error, EscapedViews::alias})
      if (PyUnicode_CompareWithASCIIString(object, std::string(to_string(each)).c_str()) == 0) {
        policy = each;
        return true;
      }
  PyErr_Format(is_text ? PyExc_ValueError : PyExc_TypeError, "escaped_views is 'snapshot', 'error' or 'alias', not %s",
               object ? shown(object).c_str() : "deleted");
  return false;
}

}  // namespace memarray::python
