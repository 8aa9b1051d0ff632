#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/view/view_core.hpp>

namespace memarray::detail {

/// Returns an array over a view's memory, without a copy. Other owners may use the memory at any time, and keep it when
/// the array moves to fresh memory.
///
/// The array's work on device memory is ordered among the uses through this library's other views. Throws `ValueError`
/// (closed); `BufferError` for a view without dimensions, read-only, not dense in C order, or with bools that are
/// neither 0 nor 1.
[[nodiscard]] MEMARRAY_API ArrayStatePtr adopt(ViewCore const& view);
/// Returns an array over a reported copy. Throws `ValueError` (closed), `BufferError` (without dimensions),
/// `CudaError`, `OutOfMemoryError`.
[[nodiscard]] MEMARRAY_API ArrayStatePtr adopt_copy(ViewCore const& view);

/// Returns why `adopt` would refuse the view; null if it would not.
[[nodiscard]] MEMARRAY_API char const* why_not_adopted(ViewCore const& view);

}  // namespace memarray::detail
