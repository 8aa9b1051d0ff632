#pragma once

#include <memarray/base/dtype.hpp>

#include <Python.h>

#include <cstddef>
#include <vector>

namespace memarray::python {

/// Writes a Python number to one element. 1: written; 0: NumPy must convert the value; −1: an error is set.
int write_element(DType const& dtype, PyObject* value, std::byte* element);
/// Writes any value that NumPy converts with casting `same_kind`. `array`: the element's array or view.
bool write_any_element(PyObject* array, DType const& dtype, PyObject* value, std::vector<std::byte>& element);
/// Returns a Python number; for a struct a tuple of field values, or bytes without fields.
PyObject* read_element(DType const& dtype, std::byte const* element);

}  // namespace memarray::python
