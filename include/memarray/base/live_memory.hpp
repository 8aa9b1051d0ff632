#pragma once

#include <memarray/base/config.hpp>

#include <cstdint>

namespace memarray {

/// The number and bytes of this process's live memory blocks, own and imported.
struct LiveMemory {
  std::int64_t blocks;
  std::int64_t bytes;
};

/// Returns counts that are exact unless blocks are created or freed meanwhile.
[[nodiscard]] MEMARRAY_API LiveMemory live_memory() noexcept;

namespace detail {

/// Counts a new block or, negative, a freed one of any thread. Per-thread counters avoid contention.
MEMARRAY_API void count_live(std::int64_t blocks, std::int64_t bytes) noexcept;

}  // namespace detail
}  // namespace memarray
