#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/strided/strided_operand.hpp>

namespace memarray::detail {

/// Whether elements may be converted without being asked, as NumPy's "same_kind" has it: to their own kind, or a later
/// one of bool, unsigned, signed, float, complex. bfloat16 is a float; a struct only becomes itself.
[[nodiscard]] MEMARRAY_API bool can_cast(DType const& from, DType const& to) noexcept;

/// Copies between views of one shape that do not overlap, and converts the elements where dtypes differ, whether or not
/// `can_cast`: as NumPy's `astype`. Integers wrap, complex numbers lose their imaginary part, anything but zero is
/// True; floats that no integer stands for become what x86 makes of them, everywhere. Throws `TypeError` from or to a
/// struct that the other is not.
MEMARRAY_API void copy(StridedTarget target, StridedSource source);
/// Throws what `copy` would.
MEMARRAY_API void check_copy(DType const& to, DType const& from);

}  // namespace memarray::detail
