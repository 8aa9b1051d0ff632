#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/strided/loop_nest.hpp>
#include <memarray/detail/strided/strided_reduce.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <string_view>

namespace memarray::detail {

/// Returns the layout of a reduction's result: the dimensions outside `axes`, dense in C order. Throws `TypeError` for
/// structs.
[[nodiscard]] MEMARRAY_API StridedLayout reduced_layout(Reduction reduction, DType const& dtype,
                                                        StridedLayout const& layout, AxisMask axes);

/// Returns the plan of a kernel for a view. `operation` is "sum", "mean", "min" or "max" over `axes`, "copy", "cast",
/// "fill" or "add_index". "copy" and "cast" go to a dense array in C order; a cast goes to elements of `to` bytes.
/// Throws `ValueError`, which lists the words, for any other; `TypeError` like the kernel.
[[nodiscard]] MEMARRAY_API LoopNest plan(std::string_view operation, DType const& dtype, StridedLayout const& layout,
                                         AxisMask axes = 0, std::size_t to = 8);

}  // namespace memarray::detail
