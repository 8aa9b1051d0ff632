#include "import/plain_memory.hpp"

#include "array/array_type.hpp"
#include "export/exchange_api.hpp"
#include "helpers.hpp"
#include "import/numpy_array.hpp"
#include "lease/lease_type.hpp"
#include "py_ref.hpp"
#include "shown.hpp"
#include "view/view_type.hpp"

#include <cstring>
#include <string_view>

namespace memarray::python {
namespace {

PyObject* names[3] = {};  // mask, unit, units

enum Carried { mask, unit, units };

/// Returns an attribute; null without an error if only `__getattr__` or `__getattribute__` makes it up (fields,
/// columns).
PyRef plain_attribute(PyObject* object, PyObject* name, PyRef const& own) {
  PyRef const of_class = PyRef::steal(type_attribute(Py_TYPE(object), name));
  if (of_class) {
    // A field of a ctypes struct is part of its memory.
    if (std::string_view(Py_TYPE(of_class.get())->tp_name).ends_with("CField")) return {};
    PyRef value = PyRef::steal(PyObject_GenericGetAttr(object, name));
    if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
    return value;
  }
  return own ? PyRef::steal(dict_item(own.get(), name)) : PyRef();
}

/// Returns `__dict__`; null without an error if it is empty.
PyRef own_attributes(PyObject* object) {
  if (Py_TYPE(object)->tp_dictoffset == 0) return {};
  PyRef dict = PyRef::steal(PyObject_GenericGetDict(object, nullptr));
  if (!dict) PyErr_Clear();
  return dict && PyDict_CheckExact(dict.get()) && PyDict_GET_SIZE(dict.get()) != 0 ? std::move(dict) : PyRef();
}

bool has_memory(PyObject* object) {
  if (PyObject_CheckBuffer(object)) return true;
  for (char const* const name : {"__array__", "__array_interface__", "__dlpack__", "__cuda_array_interface__"}) {
    if (PyRef found; find_attribute(object, name, found)) return true;
    if (!clear_ordinary_error()) return false;
  }
  return false;
}

bool check_carries_nothing(PyObject* object) {
  // Users attach any attributes to tensors, whose classes have neither mask nor unit.
  PyRef const own = exchange_api_of(object) ? PyRef() : own_attributes(object);
  for (int i = mask; i <= units; ++i) {
    PyRef const value = plain_attribute(object, names[i], own);
    if (PyErr_Occurred()) return false;
    if (!value || value.get() == Py_None || PyCallable_Check(value.get())) continue;
    if (!has_memory(object)) return !PyErr_Occurred();
    if (i == mask)
      PyErr_Format(PyExc_BufferError,
                   "memarray would lose the mask of this %.100s: take x.filled(value), or all elements, also those "
                   "under the mask (x.data, x.unmasked)",
                   Py_TYPE(object)->tp_name);
    else
      PyErr_Format(PyExc_BufferError,
                   "memarray would lose the unit of this %.100s: convert it to the unit that you mean and take its "
                   "numbers (x.value, x.magnitude)",
                   Py_TYPE(object)->tp_name);
    return false;
  }
  return true;
}

PyRef attribute(PyObject* object, char const* name) {
  PyRef found;
  find_attribute(object, name, found);
  return found;
}

/// True for types without annotations. Saves attribute look-ups.
bool is_known(PyObject* object) {
  return PyBytes_CheckExact(object) || PyByteArray_CheckExact(object) || PyCapsule_CheckExact(object) ||
         look_at_numpy_array(object).has_value() || is_view(object) || unwrap_state(object) || lease_of(object) ||
         defines_exchange_api(object);
}

bool is_numpy(PyObject* object) {
  return is_instance(Py_TYPE(object), "numpy.generic") || is_instance(Py_TYPE(object), "numpy.ndarray");
}

bool check_elements(PyObject* object) {
  if (!is_numpy(object)) return true;
  // NumPy's bytes scalars are also Python bytes.
  if (PyBytes_Check(object)) return true;
  PyRef const dtype = attribute(object, "dtype");
  PyRef const kind = dtype ? attribute(dtype.get(), "kind") : PyRef();
  if (!kind || !PyUnicode_Check(kind.get()) || PyUnicode_GET_LENGTH(kind.get()) != 1) return !PyErr_Occurred();
  char const* how = nullptr;
  switch (PyUnicode_READ_CHAR(kind.get(), 0)) {
    case 'M':
    case 'm': how = "convert them with .astype('int64'), and keep their unit of time elsewhere"; break;
    case 'S':
    case 'T':
    case 'U':
    case 'O': how = "convert them with .astype() first"; break;
    default: return true;
  }
  PyRef const name = attribute(dtype.get(), "name");
  if (name && PyUnicode_Check(name.get()))
    PyErr_Format(PyExc_BufferError, "memarray has no dtype for elements of %U: %s", name.get(), how);
  return false;
}

}  // namespace

bool init_plain_memory() {
  char const* const words[] = {"mask", "unit", "units"};
  for (int i = mask; i <= units; ++i)
    if (!names[i]) names[i] = PyUnicode_InternFromString(words[i]);
  return names[mask] && names[unit] && names[units];
}

bool is_instance(PyTypeObject* type, char const* name) {
  PyObject* const all = type->tp_mro;
  for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all); ++i) {
    auto const* const base = reinterpret_cast<PyTypeObject const*>(PyTuple_GET_ITEM(all, i));
    if (std::strcmp(base->tp_name, name) == 0) return true;
  }
  return false;
}

std::string numpy_dtype_shown(PyObject* object) {
  if (!is_numpy(object)) return {};
  PyRef const dtype = attribute(object, "dtype");
  if (dtype) return shown(dtype.get());
  PyErr_Clear();
  return {};
}

void explain_missing_buffer(PyObject* object) {
  if (!is_numpy(object) || !clear_ordinary_error()) return;
  PyErr_Format(PyExc_BufferError, "NumPy exports no buffer of %s: take np.atleast_1d(x).view('uint8')",
               numpy_dtype_shown(object).c_str());
}

bool check_unannotated(PyObject* object) {
  if (PyMemoryView_Check(object)) {
    // Its exporter may have a mask.
    PyObject* const exporter = PyMemoryView_GET_BASE(object);
    return !exporter || check_unannotated(exporter);
  }
  if (PyPickleBuffer_Check(object)) {
    Py_buffer const* const buffer = PyPickleBuffer_GetBuffer(object);
    return buffer && (!buffer->obj || check_unannotated(buffer->obj));
  }
  return is_known(object) || check_carries_nothing(object);
}

bool check_plain(PyObject* object) { return is_known(object) || (check_unannotated(object) && check_elements(object)); }

}  // namespace memarray::python
