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

/// Returns the dtype of the result, by NumPy's rules: sums of bool and integers have 64 bits, and their means are
/// float64. All other results keep the dtype. Throws `TypeError` for structs.
[[nodiscard]] MEMARRAY_API DType const& reduced_dtype(Reduction reduction, DType const& dtype);

/// Reduces `source` over `axes` into `target`, which has the other dimensions in order and dtype `reduced_dtype`. The
/// result does not depend on the number of threads.
///
/// Integers are summed exactly, modulo 2^64. Floating-point numbers are summed in double precision along every axis.
/// Rounding errors between pieces are compensated, and the result is rounded once at the end. A sum of no elements is
/// 0, a mean of none NaN.
///
/// NaN wins in min and max. Complex numbers compare by their real parts first. A complex number with a NaN in either
/// part wins; if there are several, any of them may. Throws `ValueError` for the min or max of no elements; `TypeError`
/// for structs, or if `target` has another dtype.
MEMARRAY_API void reduce(Reduction reduction, StridedSource source, AxisMask axes, StridedTarget target);
/// Throws the exception that `reduce` would throw for the operands. Does not read the elements.
MEMARRAY_API void check_reduce(Reduction reduction, DType const& dtype, StridedLayout const& source, AxisMask axes);

/// Returns the plan of `reduce`.
[[nodiscard]] MEMARRAY_API LoopNest plan_reduce(Reduction reduction, DType const& dtype, StridedLayout const& source,
                                                AxisMask axes, StridedLayout const& target);

}  // namespace memarray::detail
