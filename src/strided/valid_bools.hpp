#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <cstddef>
#include <vector>

namespace memarray::detail {

// C++ code must not read a bool whose byte is neither 0 nor 1. Memory of other libraries may have such bytes. `dtype`:
// as C++ code reads the elements. `data` is on the host.

/// True for bool, and for structs with a bool field.
[[nodiscard]] MEMARRAY_API bool has_bools(DType const& dtype) noexcept;
/// Returns the offset in bytes of each bool of an element.
[[nodiscard]] MEMARRAY_API std::vector<std::size_t> bool_offsets(DType const& dtype);
/// Reads every bool.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(DType const& dtype, std::byte const* data,
                                                  StridedLayout const& layout);
/// Writes an element's bools as 0 and 1.
MEMARRAY_API void make_element_valid(DType const& dtype, std::byte* element) noexcept;
/// Writes the bools of `bytes` bytes of dense elements as 0 and 1. Throws `std::bad_alloc`.
MEMARRAY_API void make_bools_valid(DType const& dtype, std::byte* data, std::size_t bytes);

}  // namespace memarray::detail
