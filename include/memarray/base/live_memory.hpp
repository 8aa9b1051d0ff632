#pragma once

#include <memarray/base/config.hpp>

#include <cstdint>

namespace memarray {

/// The number and the total bytes of the live memory blocks of this process, its own and imported ones.
struct LiveMemory {
  std::int64_t blocks;
  std::int64_t bytes;
};

/// Returns the current counts. They are exact unless blocks are created or freed during the call. Callable from any
/// thread.
[[nodiscard]] MEMARRAY_API LiveMemory live_memory() noexcept;

namespace detail {

/// Counts a new block, or with negative numbers a freed one, which another thread may have created. Each thread has its
/// own counters, so that threads do not contend.
MEMARRAY_API void count_live(std::int64_t blocks, std::int64_t bytes) noexcept;

}  // namespace detail
}  // namespace memarray
