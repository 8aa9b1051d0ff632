#pragma once

#include <memarray/base/struct_fields.hpp>

#include <Python.h>

#include <cstddef>

namespace memarray::python {

// A struct is described as (itemsize, ((name, offset, type, shape), …)). A type is a NumPy typestr or a description; a
// shape is that of a sub-array, () for one element.

/// Returns the buffer protocol's format; empty if there is none.
[[nodiscard]] inline char const* buffer_format(DType const& dtype) noexcept {
  return dtype.fields ? dtype.fields->format.c_str() : dtype.format;
}
/// Returns a new typestr, or a new description for a struct with fields.
[[nodiscard]] PyObject* typestr_of(DType const& dtype);
/// Returns the dtype, never freed, for a shipped name or a description. Raises `BufferError`.
[[nodiscard]] DType const* dtype_described(PyObject* description);
/// Returns a new `descr` list for an array interface, with padding as nameless fields.
[[nodiscard]] PyObject* descr_of(StructFields const& fields);
/// Returns a new tuple of field values: tuples for structs, lists for sub-arrays, `bytes` for plain bytes and text
/// (without trailing zeros).
[[nodiscard]] PyObject* read_fields(StructFields const& fields, std::byte const* element);

}  // namespace memarray::python
