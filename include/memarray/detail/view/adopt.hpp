#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/view/view_core.hpp>

namespace memarray::detail {

/// Implements `MemArray::adopt`. Throws `BufferError` also for read-only views and those without dimensions.
[[nodiscard]] MEMARRAY_API ArrayStatePtr adopt(ViewCore const& view);
/// Returns an array over a reported copy. Throws `ValueError` (closed), `BufferError` (no dimensions), `CudaError`,
/// `OutOfMemoryError`.
[[nodiscard]] MEMARRAY_API ArrayStatePtr adopt_copy(ViewCore const& view);

/// Returns why `adopt` refuses the view; null if it does not.
[[nodiscard]] MEMARRAY_API char const* why_not_adopted(ViewCore const& view);

}  // namespace memarray::detail
