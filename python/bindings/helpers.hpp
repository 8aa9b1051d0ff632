#pragma once

#include "py_ref.hpp"

#include <memarray/base/options.hpp>

#include <Python.h>

#include <cstdint>
#include <vector>

namespace memarray::python {

/// Calls `<module>.<name>(self, *args, **keywords)`.
PyObject* call_helper(char const* module, char const* name, PyObject* self, PyObject* args = nullptr,
                      PyObject* keywords = nullptr);
/// Reads an attribute; false without an error if there is none.
bool find_attribute(PyObject* object, PyObject* name, PyRef& attribute);
bool find_attribute(PyObject* object, char const* name, PyRef& attribute);
/// Returns a new reference to an unbound attribute, or null without an error.
PyObject* type_attribute(PyTypeObject* type, PyObject* name) noexcept;
/// Returns a new reference to an item; null without an error if there is none.
PyObject* dict_item(PyObject* dict, PyObject* key) noexcept;
PyRef take_error();
void set_error(PyRef exception);
/// Clears a pending error. Returns false for `MemoryError` and errors that are no `Exception`, such as Ctrl-C, which
/// stay set.
bool clear_ordinary_error() noexcept;
/// True for an object with `__index__`, except bools. The bools of NumPy before 2.3 have it.
[[nodiscard]] bool is_integer(PyObject* object) noexcept;
/// The words of `read_integers` in error messages.
struct IntegersNamed {
  char const* are;      ///< "a shape is"
  char const* all;      ///< "the shape"
  char const* one;      ///< "extent"
  char const* example;  ///< "[2, 4, 7]"
};
/// Reads one integer or a sequence of integers. Raises `TypeError` or `OverflowError` for others.
bool read_integers(PyObject* object, IntegersNamed const& names, std::vector<std::int64_t>& numbers);
inline constexpr IntegersNamed shape_names{"a shape is", "the shape", "extent", "[2, 4, 7]"};
/// Like `read_integers`, for a shape.
bool read_shape(PyObject* object, std::vector<std::int64_t>& shape);
/// Reads a policy by its name. Raises `TypeError` or `ValueError` for others, and for null (a deleted attribute).
bool read_escaped_views(PyObject* object, EscapedViews& policy);

}  // namespace memarray::python
