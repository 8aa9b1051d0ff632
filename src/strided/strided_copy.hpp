#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/strided/strided_operand.hpp>

namespace memarray::detail {

/// True if NumPy's "same_kind" rule allows a conversion: to the same or a later kind of bool, unsigned, signed, float,
/// complex. Structs convert only to themselves.
[[nodiscard]] MEMARRAY_API bool can_cast(DType const& from, DType const& to) noexcept;

/// Copies between views of one shape that do not overlap. Converts like NumPy's `astype`, regardless of `can_cast`;
/// floats that no integer represents become x86's result on every processor. Throws `TypeError` (conversion of
/// structs).
MEMARRAY_API void copy(StridedTarget target, StridedSource source);
/// Throws like `copy`.
MEMARRAY_API void check_copy(DType const& to, DType const& from);

}  // namespace memarray::detail
