#pragma once

#include "py_ref.hpp"

#include <Python.h>

#include <cstdint>
#include <vector>

namespace memarray::python {

/// Calls `<module>.<name>(self, *args, **keywords)`. Returns a new reference; null with the error set.
PyObject* call_helper(char const* module, char const* name, PyObject* self, PyObject* args = nullptr,
                      PyObject* keywords = nullptr);
/// Finds an attribute. False with the error set, or without one where the object has none.
bool find_attribute(PyObject* object, PyObject* name, PyRef& attribute);
bool find_attribute(PyObject* object, char const* name, PyRef& attribute);
/// What a type has under a name, from the cache that every type has of its attributes: a new reference, as it is and
/// not bound. Null without an error where it has none.
PyObject* type_attribute(PyTypeObject* type, PyObject* name) noexcept;
/// A new reference; null with the error set, or without one where the dict has none.
PyObject* dict_item(PyObject* dict, PyObject* key) noexcept;
/// Takes the pending error, with its traceback, as the exception.
PyRef take_error();
/// Makes an exception, with the traceback that it has, the pending error.
void set_error(PyRef exception);
/// Reads a shape: a sequence of integers (or one integer). False with the error set.
bool read_shape(PyObject* object, std::vector<std::int64_t>& shape);

}  // namespace memarray::python
