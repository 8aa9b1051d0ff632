#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/strided/loop_nest.hpp>
#include <memarray/detail/strided/strided_reduce.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <string_view>

namespace memarray::detail {

/// The result of a reduction over `axes`: the other dimensions, dense in C order. Throws `TypeError` for structs.
[[nodiscard]] MEMARRAY_API StridedLayout reduced_layout(Reduction reduction, DType const& dtype,
                                                        StridedLayout const& layout, AxisMask axes);

/// How a kernel would walk over such a view: "sum", "mean", "min" or "max" over `axes`, "copy" and "cast" (both to a
/// dense array in C order; a cast to elements of `to` bytes), "fill" or "add_index". Throws `ValueError`, listing the
/// words, for any other; `TypeError` as the kernel does.
[[nodiscard]] MEMARRAY_API LoopNest plan(std::string_view operation, DType const& dtype, StridedLayout const& layout,
                                         AxisMask axes = 0, std::size_t to = 8);

}  // namespace memarray::detail
