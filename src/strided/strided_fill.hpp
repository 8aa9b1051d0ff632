#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/strided/strided_operand.hpp>

#include <cstddef>

namespace memarray::detail {

/// Sets every element to the one at `element`, which may be one of them. Indices may share elements.
MEMARRAY_API void fill(StridedTarget target, void const* element);

/// Sets each element to the one of `source` plus its index sum; integers wrap. `source`: `target.data` or, if `target`
/// is dense in C order, other memory of that layout. Throws `TypeError` (structs).
MEMARRAY_API void add_index(StridedTarget target, std::byte const* source);
/// Throws like `add_index`.
MEMARRAY_API void check_add_index(DType const& dtype);

}  // namespace memarray::detail
