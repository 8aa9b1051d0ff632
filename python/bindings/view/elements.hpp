#pragma once

#include <memarray/base/dtype.hpp>

#include <Python.h>

#include <cstddef>
#include <vector>

namespace memarray::python {

/// Writes a Python number to one element. 1: written; 0: NumPy has to convert the value to this dtype; −1: error set.
int write_element(DType const& dtype, PyObject* value, std::byte* element);
/// Writes any value that NumPy converts to a compatible kind of number (`same_kind`). `array`: the array or view that
/// receives the element. False with the error set.
bool write_any_element(PyObject* array, DType const& dtype, PyObject* value, std::vector<std::byte>& element);
/// Returns one element as a Python number; a struct as a tuple of its fields' values, or as bytes if it has no fields.
PyObject* read_element(DType const& dtype, std::byte const* element);

}  // namespace memarray::python
