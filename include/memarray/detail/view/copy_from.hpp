#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/state.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <cstdint>

namespace memarray::detail {

/// Replaces the contents of an array by the elements of a view, converted within their kind of number. Under `lock_id`
/// of an open write lease it writes in place. All checks and all that may fail come before the first write. Throws
/// `ValueError`, `TypeError`, `LockError`, `CudaError`, `OutOfMemoryError`.
MEMARRAY_API void copy_from(State& state, ViewCore const& source, std::int64_t lock_id);

}  // namespace memarray::detail
