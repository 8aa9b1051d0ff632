#include "shown.hpp"

#include "base/shortened.hpp"
#include "gil.hpp"
#include "helpers.hpp"
#include "py_ref.hpp"

#include <string_view>

namespace memarray::python {
namespace {

constexpr Py_ssize_t longest = longest_word;
constexpr Py_ssize_t most_items = 8;

/// Returns `text` as UTF-8, cut to `most` characters; empty on failure.
std::string cut(PyObject* text, Py_ssize_t most) {
  bool const fits = PyUnicode_GET_LENGTH(text) <= most;
  PyRef const part = fits ? PyRef::borrow(text) : PyRef::steal(PyUnicode_Substring(text, 0, most - 3));
  // A lone surrogate has no UTF-8 form.
  PyRef const bytes = PyRef::steal(part ? PyUnicode_AsEncodedString(part.get(), "utf-8", "backslashreplace") : nullptr);
  if (!bytes) return {};
  std::string result(PyBytes_AS_STRING(bytes.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get())));
  return fits ? result : result + "...";
}

std::string counted(PyObject* object, Py_ssize_t count, char const* items) {
  return "a " + type_name(object) + " of " + std::to_string(count) + " " + items;
}

/// Returns the words of `convert`, or the type's name.
std::string words_of(PyObject* object, PyObject* (*convert)(PyObject*) = PyObject_Repr) {
  PyRef const words = PyRef::steal(convert(object));
  std::string text = words ? cut(words.get(), longest) : std::string();
  if (auto const end = text.find_first_of("\r\n"); end != std::string::npos) text.replace(end, text.size(), "...");
  if (!text.empty() && text != "...") return text;
  // A message must not swallow Ctrl-C.
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  PyErr_Clear();
  return "a " + type_name(object);
}

/// True if the repr is short and fast.
bool is_small(PyObject* object, int depth) {
  if (object == Py_None || PyBool_Check(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object) ||
      PyLong_CheckExact(object) || PyType_Check(object))
    return true;
  if (PyUnicode_CheckExact(object)) return PyUnicode_GET_LENGTH(object) <= longest;
  if (PyBytes_CheckExact(object)) return PyBytes_GET_SIZE(object) <= longest;
  bool const is_sequence = PyTuple_CheckExact(object) || PyList_CheckExact(object);
  if (!is_sequence || depth == 0 || PySequence_Fast_GET_SIZE(object) > most_items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
    if (!is_small(PySequence_Fast_GET_ITEM(object, i), depth - 1)) return false;
  return true;
}

std::string shape_of(PyObject* object) {
  PyRef shape;
  if (!find_attribute(object, "shape", shape)) return PyErr_Clear(), std::string();
  if (!PyTuple_Check(shape.get()) || PyTuple_GET_SIZE(shape.get()) == 0) return {};
  // PyTorch's shapes are a subclass of tuple.
  PyRef const plain = PyRef::steal(PyTuple_GetSlice(shape.get(), 0, PyTuple_GET_SIZE(shape.get())));
  if (plain && is_small(plain.get(), 1)) return words_of(plain.get());
  return std::to_string(PyTuple_GET_SIZE(shape.get())) + " extents";
}

}  // namespace

std::string type_name(PyObject* object) { return object ? detail::shortened(Py_TYPE(object)->tp_name, 60) : "nothing"; }

std::string shown(PyObject* object) {
  ErrorAside const aside;
  if (!object) return "nothing";
  if (is_small(object, 2)) return words_of(object);
  // A dtype without fields has the length 0.
  if (std::string_view(Py_TYPE(object)->tp_name).starts_with("numpy.dtype")) return words_of(object, PyObject_Str);
  if (PyUnicode_Check(object)) return counted(object, PyUnicode_GET_LENGTH(object), "characters");
  if (std::string const shape = shape_of(object); !shape.empty())
    return "a " + type_name(object) + " of shape " + shape;
  PySequenceMethods const* const sequence = Py_TYPE(object)->tp_as_sequence;
  PyMappingMethods const* const mapping = Py_TYPE(object)->tp_as_mapping;
  if ((sequence && sequence->sq_length) || (mapping && mapping->mp_length)) {
    // The repr of a large object takes seconds.
    Py_ssize_t const count = PyObject_Size(object);
    bool const is_bytes = PyBytes_Check(object) || PyByteArray_Check(object);
    if (count >= 0) return counted(object, count, is_bytes ? "bytes" : "items");
    PyErr_Clear();
  }
  return words_of(object);
}

std::string first_line(PyObject* error, Py_ssize_t most) {
  ErrorAside const aside;
  PyRef const words = PyRef::steal(error ? PyObject_Str(error) : nullptr);
  if (!words) return error ? type_name(error) : "no reason";
  Py_ssize_t const length = PyUnicode_GET_LENGTH(words.get());
  Py_ssize_t end = PyUnicode_FindChar(words.get(), '\n', 0, length, 1);
  if (end < 0) end = length;
  PyRef const line = PyRef::steal(PyUnicode_Substring(words.get(), 0, end));
  std::string text = line ? cut(line.get(), most) : std::string();
  PyErr_Clear();
  return text.empty() ? type_name(error) : text;
}

}  // namespace memarray::python
