#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/strided/strided_operand.hpp>

namespace memarray::detail {

/// Sets every element to the one at `element`, which may be one of them. Several indices may address one element.
MEMARRAY_API void fill(StridedTarget target, void const* element);

/// Adds to each element the sum of its indices; integers wrap. Throws `TypeError` for structs.
MEMARRAY_API void add_index(StridedTarget target);
/// Throws the exception that `add_index` would throw.
MEMARRAY_API void check_add_index(DType const& dtype);

}  // namespace memarray::detail
