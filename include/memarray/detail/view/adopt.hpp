#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/state.hpp>
#include <memarray/detail/view/view_core.hpp>

namespace memarray::detail {

/// An array over the memory of a view, which it keeps: no copy. That memory has other owners, who may use it at any
/// time; what makes the array go on in memory of its own (`resize`, writing under kept views) leaves it to them. Memory
/// of a device is the array's device side: work on it comes after what uses the memory so far, and what others do
/// through views of this library after the array's. Throws `ValueError` (closed), `BufferError` (without dimensions,
/// read-only, not dense in C order, with bools that are neither 0 nor 1).
[[nodiscard]] MEMARRAY_API StatePtr adopt(ViewCore const& view);
/// An array of a reported copy, which has no other owner. Throws `ValueError` (closed), `BufferError` (without
/// dimensions), `CudaError`, `OutOfMemoryError`.
[[nodiscard]] MEMARRAY_API StatePtr adopt_copy(ViewCore const& view);

/// Null if `adopt` would take the view, else why not, in words.
[[nodiscard]] MEMARRAY_API char const* why_not_adopted(ViewCore const& view);

}  // namespace memarray::detail
