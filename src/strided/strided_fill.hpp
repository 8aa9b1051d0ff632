#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/strided/strided_operand.hpp>

#include <cstddef>

namespace memarray::detail {

/// Sets every element to the one at `element`, which may be one of them. Several indices may address one element.
MEMARRAY_API void fill(StridedTarget target, void const* element);

/// Sets each element to the one of `source` plus the sum of its indices; integers wrap. `source` is the target's own
/// memory, or memory of the same layout, which is then dense. Throws `TypeError` for structs.
MEMARRAY_API void add_index(StridedTarget target, std::byte const* source);
/// Throws the exception that `add_index` would throw.
MEMARRAY_API void check_add_index(DType const& dtype);

}  // namespace memarray::detail
