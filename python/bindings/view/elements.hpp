#pragma once

#include <memarray/base/dtype.hpp>

#include <Python.h>

#include <cstddef>
#include <vector>

namespace memarray::python {

/// Writes one element. 1: done; 0: not a plain Python number that fits this dtype's kind, ask NumPy; −1: error set.
int write_element(DType const& dtype, PyObject* value, std::byte* element);
/// The same of any value that NumPy converts within a kind of number. `array`: the array or view that it is for. False
/// with the error set.
bool write_any_element(PyObject* array, DType const& dtype, PyObject* value, std::vector<std::byte>& element);
/// One element as a Python number; a struct as a tuple of its fields' values, or as bytes where it says no fields.
PyObject* read_element(DType const& dtype, std::byte const* element);

}  // namespace memarray::python
