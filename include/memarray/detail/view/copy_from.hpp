#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <cstdint>

namespace memarray::detail {

/// Implements `MemArray::copy_from`, in place under an open write lease (`lock_id` not −1). Failures precede the first
/// write.
MEMARRAY_API void copy_from(ArrayState& state, ViewCore const& source, std::int64_t lock_id);

}  // namespace memarray::detail
