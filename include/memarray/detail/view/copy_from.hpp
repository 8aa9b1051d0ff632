#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <cstdint>

namespace memarray::detail {

/// Replaces the contents of an array by the elements of a view, converted to a compatible kind of number (NumPy's
/// `same_kind`). `lock_id`: the id of an open write lease, under which the write is in place. Everything that can fail
/// comes before the first write. Throws `ValueError`, `TypeError`, `LockError`, `CudaError`, `OutOfMemoryError`.
MEMARRAY_API void copy_from(ArrayState& state, ViewCore const& source, std::int64_t lock_id);

}  // namespace memarray::detail
