#pragma once

#include "py_ref.hpp"

#include <Python.h>

#include <cstdint>
#include <vector>

namespace memarray::python {

/// Calls `<module>.<name>(self, *args, **keywords)`. Returns a new reference; null with the error set.
PyObject* call_helper(char const* module, char const* name, PyObject* self, PyObject* args = nullptr,
                      PyObject* keywords = nullptr);
/// Reads an attribute into `attribute`. False with the error set, or without an error if the object has no such
/// attribute.
bool find_attribute(PyObject* object, PyObject* name, PyRef& attribute);
bool find_attribute(PyObject* object, char const* name, PyRef& attribute);
/// Returns a new reference to a type's attribute, unbound, from the type's attribute cache. Null without an error if
/// the type has none.
PyObject* type_attribute(PyTypeObject* type, PyObject* name) noexcept;
/// Returns a new reference to an item; null with the error set, or without an error if the dict has no such key.
PyObject* dict_item(PyObject* dict, PyObject* key) noexcept;
/// Takes the pending error, with its traceback, as an exception object.
PyRef take_error();
/// Makes `exception` the pending error, with its own traceback.
void set_error(PyRef exception);
/// Reads a shape: a sequence of integers, or one integer. False with the error set.
bool read_shape(PyObject* object, std::vector<std::int64_t>& shape);

}  // namespace memarray::python
