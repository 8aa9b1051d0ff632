#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/strided/loop_nest.hpp>
#include <memarray/detail/strided/strided_operand.hpp>

#include <cstdint>
#include <string_view>

namespace memarray::detail {

enum class Reduction : std::uint8_t { sum, mean, min, max };
[[nodiscard]] MEMARRAY_API std::string_view to_string(Reduction reduction) noexcept;

/// The dtype of the result, as NumPy has it: sums of bool and integers have 64 bits, their means are float64, all else
/// keeps its dtype. Throws `TypeError` for structs.
[[nodiscard]] MEMARRAY_API DType const& reduced_dtype(Reduction reduction, DType const& dtype);

/// Reduces `source` over `axes` into `target`, which has the other dimensions in order and dtype `reduced_dtype`.
///
/// Integers are summed exactly, modulo 2^64; floating-point numbers in double precision along every axis, with what
/// roundings between pieces lose added again, and rounded once at the end. NaN wins in min and max; complex numbers
/// compare by their real parts first, and one with a NaN in either part, any if there are several, wins. The result
/// does not depend on the number of threads. A sum of nothing is 0, a mean of nothing NaN; `ValueError` for the least
/// or largest of nothing. Throws `TypeError` for structs.
MEMARRAY_API void reduce(Reduction reduction, StridedSource source, AxisMask axes, StridedTarget target);
/// Throws what `reduce` would, without looking at the elements.
MEMARRAY_API void check_reduce(Reduction reduction, DType const& dtype, StridedLayout const& source, AxisMask axes);

/// How `reduce` would go.
[[nodiscard]] MEMARRAY_API LoopNest plan_reduce(Reduction reduction, DType const& dtype, StridedLayout const& source,
                                                AxisMask axes, StridedLayout const& target);

}  // namespace memarray::detail
