#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <cstddef>

namespace memarray::detail {

// C++ code must not read a bool whose byte is neither 0 nor 1. Memory of other libraries may have such bytes, and so
// may device memory, which is not checked. `dtype`: as C++ code reads the elements, which are on the host.

/// True for bool, and for structs with a bool field.
[[nodiscard]] MEMARRAY_API bool has_bools(DType const& dtype) noexcept;
/// Reads every bool.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(DType const& dtype, std::byte const* data,
                                                  StridedLayout const& layout);
/// Copies only the bools, as 0 and 1, to other memory. Both layouts have one shape.
MEMARRAY_API void write_valid_bools(DType const& dtype, std::byte* target, StridedLayout const& target_layout,
                                    std::byte const* source, StridedLayout const& source_layout);
/// Writes an element's bools as 0 and 1.
MEMARRAY_API void make_element_valid(DType const& dtype, std::byte* element) noexcept;
/// Writes the bools of `bytes` bytes of dense elements as 0 and 1. Throws `std::bad_alloc`.
MEMARRAY_API void make_bools_valid(DType const& dtype, std::byte* data, std::size_t bytes);

}  // namespace memarray::detail
