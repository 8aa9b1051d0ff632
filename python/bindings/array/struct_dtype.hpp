#pragma once

#include <memarray/base/struct_fields.hpp>

#include <Python.h>

#include <cstddef>

namespace memarray::python {

// The description of a struct in Python is (itemsize, ((name, offset, type, shape), …)). A type is a NumPy typestr, or
// such a tuple for a nested struct. A shape is that of a sub-array, () for one element.

/// Returns the format of a dtype for the buffer protocol; empty if it has none.
[[nodiscard]] inline char const* buffer_format(DType const& dtype) noexcept {
  return dtype.fields ? dtype.fields->format.c_str() : dtype.format;
}
/// Returns a new reference to the typestr of a dtype, or to the description of a struct whose fields are known. Null
/// with the error set.
[[nodiscard]] PyObject* describe_dtype(DType const& dtype);
/// Returns the dtype for the name of a shipped dtype or for the description of a struct. The dtype lives as long as the
/// process. Null with `BufferError` set.
[[nodiscard]] DType const* dtype_described(PyObject* description);
/// Returns a new list for `descr` of an array interface. Padding is a field without a name, as NumPy writes it.
[[nodiscard]] PyObject* descr_of(StructFields const& fields);
/// Returns a new tuple of the values of an element's fields. Nested structs become tuples and sub-arrays lists. Text
/// (without its trailing zeros) and plain bytes become `bytes`.
[[nodiscard]] PyObject* read_fields(StructFields const& fields, std::byte const* element);

}  // namespace memarray::python
