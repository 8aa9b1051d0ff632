#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/memory/stream_uses.hpp>
#include <memarray/detail/state/state.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace memarray::detail {

/// What one lease wants of one array, and what it got.
struct Claim {
  State* state;
  State::Access access;
  std::size_t position = 0;    ///< the caller's order, as `take_all` sorts
  Place place{};               ///< where the memory is wanted
  std::int64_t id = -1;        ///< of a write that was taken
  BlockPtr block{};            ///< what was got, of either
  StreamUses::Lease lent = 0;  ///< of its uses, on a device
  BlockPtr fresh{};            ///< for contents that are given up while somebody looks at them
};

/// "a read lease" or "a write lease", for messages.
[[nodiscard]] MEMARRAY_API char const* lease_name(State::Access access) noexcept;
/// Takes the words of all claims and settles what escaped views ask for, or takes none, changes nothing, and throws:
/// `LockError` when one cannot be had within `timeout` (counted over all) or an array is claimed twice, once for
/// writing; `OutOfMemoryError`, `Interrupted`. Words are taken in one order whoever asks, so that two callers cannot
/// wait for each other for ever; several reads of one array count as one when a writer waits.
MEMARRAY_API void take_all(std::span<Claim> claims, Timeout timeout);
/// The same for one.
MEMARRAY_API void take_one(Claim& claim, Timeout timeout);
/// Gives back what a claim took: its streams' work so far comes before whoever uses the memory next.
MEMARRAY_API void give_back(Claim& claim) noexcept;
/// The end of a lease's streams, before its word is given back.
MEMARRAY_API void close_streams(Block& block, StreamUses::Lease lent) noexcept;

}  // namespace memarray::detail
