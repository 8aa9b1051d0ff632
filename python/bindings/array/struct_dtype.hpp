#pragma once

#include <memarray/base/struct_fields.hpp>

#include <Python.h>

#include <cstddef>

namespace memarray::python {

// Python describes the fields of a struct as (itemsize, ((name, offset, type, shape), …)). The type is a NumPy typestr
// or such a tuple for a nested struct; the shape is that of a sub-array, () for one element.

/// The buffer protocol's format; empty where there is none.
[[nodiscard]] inline char const* buffer_format(DType const& dtype) noexcept {
  return dtype.fields ? dtype.fields->format.c_str() : dtype.format;
}
/// A new reference to the typestr of a dtype, or to that tuple for a struct that says its fields. Null with the error
/// set.
[[nodiscard]] PyObject* describe_dtype(DType const& dtype);
/// The dtype of a name of a shipped one, or of such a tuple. It lives as long as the process. Null with `BufferError`
/// set.
[[nodiscard]] DType const* dtype_described(PyObject* description);
/// A new list for `descr` of an array interface, with padding as fields without a name, as NumPy writes it.
[[nodiscard]] PyObject* descr_of(StructFields const& fields);
/// A new tuple of the values of an element's fields: tuples for nested structs, lists for sub-arrays, `bytes` for text
/// (without its trailing zeros) and for plain bytes.
[[nodiscard]] PyObject* read_fields(StructFields const& fields, std::byte const* element);

}  // namespace memarray::python
