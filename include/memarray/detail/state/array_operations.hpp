#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/array_state.hpp>

#include <cstdint>

namespace memarray::detail {

// Operations on whole arrays. They hold the lock for as long as they need it, and leave the array as it was when they
// throw. `lock_id` is −1, or the id of an open write lease: the operation then uses that lease. All throw `LockError`,
// which names the holder.

/// Sets every element to the one at `element`.
MEMARRAY_API void fill(ArrayState& state, void const* element, std::int64_t lock_id = -1);
/// Moves the array to fresh memory of `shape`. The leading elements stay, the others get the dtype's initial value.
MEMARRAY_API void resize(ArrayState& state, Extents shape);
/// Swaps contents, shape, device and resource of two arrays of one dtype and rank; policies stay.
MEMARRAY_API void exchange(ArrayState& one, ArrayState& other);
/// Returns a deep, unlocked copy; holds the array's read lock meanwhile.
[[nodiscard]] MEMARRAY_API ArrayStatePtr clone(ArrayState& state);
/// Makes the side on `target` current, by a copy in `stream` if it is stale. Throws `LockError` under any lease.
MEMARRAY_API void move_to(ArrayState& state, Device target, std::int64_t lock_id, StreamChoice const& stream = {},
                          bool async = false);

/// Acquire and release a write lease under an id that the caller chose. `leave` releases only a lease of `enter`.
MEMARRAY_API void enter(ArrayState& state, std::int64_t lock_id);
MEMARRAY_API void leave(ArrayState& state) noexcept;

[[noreturn]] MEMARRAY_API void throw_moved_from();

}  // namespace memarray::detail
