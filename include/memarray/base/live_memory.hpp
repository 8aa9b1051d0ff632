#pragma once

#include <memarray/base/config.hpp>

#include <cstdint>

namespace memarray {

/// The blocks of memory that are alive in this process, its own and those that it borrows.
struct LiveMemory {
  std::int64_t blocks;
  std::int64_t bytes;
};

/// Exact when nobody makes or frees a block meanwhile; else some of what happens then is counted and some is not. From
/// any thread.
[[nodiscard]] MEMARRAY_API LiveMemory live_memory() noexcept;

namespace detail {

/// Counts a block that comes, or with negative numbers one that goes, on whichever thread that is. Each thread counts
/// for itself, so that threads do not wait for one another.
MEMARRAY_API void count_live(std::int64_t blocks, std::int64_t bytes) noexcept;

}  // namespace detail
}  // namespace memarray
