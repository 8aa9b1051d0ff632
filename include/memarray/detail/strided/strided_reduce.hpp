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

/// Returns the result's dtype by NumPy's rules. Throws `TypeError` (structs).
[[nodiscard]] MEMARRAY_API DType const& reduced_dtype(Reduction reduction, DType const& dtype);

/// Reduces over `axes` into `target`, which has the other dimensions in order and dtype `reduced_dtype`. Results do not
/// depend on the number of threads.
///
/// Integers are summed modulo 2^64; floats in double, compensated between pieces, rounded once. A sum of no elements is
/// 0, a mean NaN. In min and max, NaN (in either part) wins; complex numbers compare by real parts first.
///
/// Throws `ValueError` (min or max of no elements), `TypeError` (structs; another dtype of `target`).
MEMARRAY_API void reduce(Reduction reduction, StridedSource source, AxisMask axes, StridedTarget target);
/// Throws like `reduce`, except for the dtype of its target.
MEMARRAY_API void check_reduce(Reduction reduction, DType const& dtype, StridedLayout const& source, AxisMask axes);

[[nodiscard]] MEMARRAY_API LoopNest plan_reduce(Reduction reduction, DType const& dtype, StridedLayout const& source,
                                                AxisMask axes, StridedLayout const& target);

}  // namespace memarray::detail
