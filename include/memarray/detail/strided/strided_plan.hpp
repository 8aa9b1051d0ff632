#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/strided/loop_nest.hpp>
#include <memarray/detail/strided/strided_reduce.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <string_view>

namespace memarray::detail {

/// Returns the result's layout, dense in C order. Throws `TypeError` (structs).
[[nodiscard]] MEMARRAY_API StridedLayout reduced_layout(Reduction reduction, DType const& dtype,
                                                        StridedLayout const& layout, AxisMask axes);

/// Plans "sum", "mean", "min" or "max" over `axes`, "fill", "add_index", or "copy" or "cast" (to item size `to`) to
/// dense memory. Throws `ValueError` (another operation), `TypeError` (reduction of structs).
[[nodiscard]] MEMARRAY_API LoopNest plan(std::string_view operation, DType const& dtype, StridedLayout const& layout,
                                         AxisMask axes = 0, std::size_t to = 8);

}  // namespace memarray::detail
