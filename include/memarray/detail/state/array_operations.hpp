#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/array_state.hpp>

#include <cstdint>

namespace memarray::detail {

// Operations that lock the whole array. All but `leave` throw `LockError`. Errors leave the array unchanged, except
// that a `fill` on a device may stop part way.

/// Sets every element to the one at `element`. `lock_id`: the caller's write lease, or −1.
MEMARRAY_API void fill(ArrayState& state, void const* element, std::int64_t lock_id = -1);
/// Moves to fresh memory. Keeps the first elements in C order; new ones get the dtype's initial value.
MEMARRAY_API void resize(ArrayState& state, Extents shape);
/// Swaps contents, shape, device and resource of arrays of one dtype and rank; policies stay.
MEMARRAY_API void exchange(ArrayState& one, ArrayState& other);
[[nodiscard]] MEMARRAY_API ArrayStatePtr clone(ArrayState& state);
/// Makes the side on `target` current, by a copy in `stream` if it is stale. Refused under any lease; `lock_id` is for
/// that message.
MEMARRAY_API void move_to(ArrayState& state, Device target, std::int64_t lock_id, StreamChoice const& stream = {},
                          bool async = false);

/// Acquire and release a write hold under the caller's id.
MEMARRAY_API void enter(ArrayState& state, std::int64_t lock_id);
MEMARRAY_API void leave(ArrayState& state) noexcept;

[[noreturn]] MEMARRAY_API void throw_moved_from();

}  // namespace memarray::detail
