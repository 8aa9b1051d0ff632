#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <cstdint>

namespace memarray::detail {

/// Replaces the contents by a view's elements, converted by NumPy's `same_kind` rule; in place under the open write
/// lease `lock_id`, unless −1. All failures precede the first write. Throws `ValueError`, `TypeError`, `LockError`,
/// `CudaError`, `OutOfMemoryError`.
MEMARRAY_API void copy_from(ArrayState& state, ViewCore const& source, std::int64_t lock_id);

}  // namespace memarray::detail
