#pragma once

#include <memarray/array/state.hpp>
#include <memarray/array/view_core.hpp>
#include <memarray/base/config.hpp>

namespace memarray::detail {

/// An array over the memory of a view, which it keeps: no copy. That memory has other owners, who may use it at any
/// time; what makes the array go on in memory of its own (`resize`, writing under kept views) leaves it to them. Memory
/// of a device is the array's device side: work on it comes after what uses the memory so far, and what others do
/// through views of this library after the array's. Throws `ValueError` (closed), `BufferError` (without dimensions,
/// read-only, not dense in C order).
[[nodiscard]] MEMARRAY_API StatePtr adopt(ViewCore const& view);

/// Whether `adopt` would take it; null, or why not in words.
[[nodiscard]] MEMARRAY_API char const* why_not_adopted(ViewCore const& view) noexcept;

}  // namespace memarray::detail
