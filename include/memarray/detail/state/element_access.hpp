#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/array_state.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

// Accesses that check the lock and do not hold it afterwards. Throw `LockError`. `lock_id`: the caller's write lease,
// or −1.

MEMARRAY_API void check_write(ArrayState const& state, std::int64_t lock_id, char const* what);
/// Throws `Interrupted`.
MEMARRAY_API void check_read(ArrayState& state, std::int64_t lock_id, char const* what);

/// Return the current block's memory. Without a lease, first apply the policy for escaped views. Block, with a report,
/// until pending work is complete. Throw `CudaError`.
[[nodiscard]] MEMARRAY_API std::byte const* checked_read(ArrayState& state, std::int64_t lock_id, char const* what);
[[nodiscard]] MEMARRAY_API std::byte* checked_write(ArrayState& state, std::int64_t lock_id, char const* what);
/// Copy the element at linear index `at`. Throw `CudaError`.
MEMARRAY_API void read_element(ArrayState& state, std::int64_t at, void* element, std::int64_t lock_id);
MEMARRAY_API void write_element(ArrayState& state, std::int64_t at, void const* element, std::int64_t lock_id);

/// Throws `Error` unless `side` is current.
MEMARRAY_API void check_side(ArrayState const& state, Side side);
[[noreturn]] MEMARRAY_API void throw_out_of_bounds(ArrayState const& state, int dimension, std::int64_t index);

}  // namespace memarray::detail
