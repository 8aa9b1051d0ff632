#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/state/array_state.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace memarray::detail {

/// A request of one lease for one array, and its result.
struct Claim {
  ArrayState* state;
  ArrayState::Access access;
  std::size_t position = 0;                    ///< index in the caller's order, as `take_all` sorts
  Place place{};                               ///< where to use the memory
  std::int64_t id = -1;                        ///< lock id of an acquired write
  BlockPtr block{};                            ///< the acquired memory, for either access
  StreamDependencies::Lease stream_lease = 0;  ///< its entry in the block's `StreamDependencies`, on a device
  BlockPtr fresh{};                            ///< new memory, if the old contents are dropped under live exports
};

/// Returns "a read lease" or "a write lease", for messages.
[[nodiscard]] MEMARRAY_API char const* lease_name(ArrayState::Access access) noexcept;
/// Acquires the locks of all claims and applies the escaped-view policies. If one fails, acquires none, changes no
/// contents, and throws: `LockError` if a lock is not free within `timeout` (counted over all), or if an array is
/// claimed twice, once for writing; `OutOfMemoryError`, `CudaError`, `Interrupted`. All callers acquire in one order,
/// which prevents deadlock. Several reads of one array count as one when a writer waits.
MEMARRAY_API void take_all(std::span<Claim> claims, Timeout timeout);
/// Acquires the lock of one claim, as `take_all` does.
MEMARRAY_API void take_one(Claim& claim, Timeout timeout);
/// Releases an acquired claim. The next user of the memory waits for the work in its streams so far.
MEMARRAY_API void give_back(Claim& claim) noexcept;
/// Ends a lease's use of streams, before its lock is released.
MEMARRAY_API void close_streams(Block& block, StreamDependencies::Lease stream_lease) noexcept;

}  // namespace memarray::detail
