#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/strided/strided_operand.hpp>

namespace memarray::detail {

/// True if elements may be converted implicitly, by NumPy's "same_kind" rule: to their own kind or a later one of bool,
/// unsigned, signed, float, complex. bfloat16 is a float; a struct only converts to itself.
[[nodiscard]] MEMARRAY_API bool can_cast(DType const& from, DType const& to) noexcept;

/// Copies between views of one shape that do not overlap. Converts the elements if the dtypes differ, like NumPy's
/// `astype`, even if `can_cast` is false. Integers wrap, complex numbers lose their imaginary part, and anything but
/// zero is True. Floats that no integer represents become what x86 makes of them, on every processor. Throws
/// `TypeError` if a struct would have to be converted.
MEMARRAY_API void copy(StridedTarget target, StridedSource source);
/// Throws the exception that `copy` would throw.
MEMARRAY_API void check_copy(DType const& to, DType const& from);

}  // namespace memarray::detail
