#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/view/view_core.hpp>

namespace memarray::detail {

/// Returns an array over the memory of a view, without a copy. The array keeps the memory alive; its other owners may
/// use it at any time. Operations that give the array fresh memory (`resize`, a write under escaped views) leave the
/// adopted memory to them.
///
/// Device memory becomes the array's device side. Work of the array is ordered after the pending work on the memory,
/// and work through other views of this library after that of the array. Throws `ValueError` (closed); `BufferError`
/// for a view without dimensions, read-only, not dense in C order, or with bools that are neither 0 nor 1.
[[nodiscard]] MEMARRAY_API ArrayStatePtr adopt(ViewCore const& view);
/// Returns an array over a reported copy, which has no other owner. Throws `ValueError` (closed), `BufferError`
/// (without dimensions), `CudaError`, `OutOfMemoryError`.
[[nodiscard]] MEMARRAY_API ArrayStatePtr adopt_copy(ViewCore const& view);

/// Returns the reason, for an error message, why `adopt` would refuse the view; null if it would accept it.
[[nodiscard]] MEMARRAY_API char const* why_not_adopted(ViewCore const& view);

}  // namespace memarray::detail
