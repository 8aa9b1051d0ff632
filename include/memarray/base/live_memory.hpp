#pragma once

#include <memarray/base/config.hpp>

#include <cstdint>

namespace memarray {

/// Live memory blocks of this process, own and imported.
struct LiveMemory {
  std::int64_t blocks;
  std::int64_t bytes;
};

/// Returns counts, exact if no block is created or freed meanwhile.
[[nodiscard]] MEMARRAY_API LiveMemory live_memory() noexcept;

namespace detail {

/// Counts new or, if negative, freed blocks of any thread.
MEMARRAY_API void count_live(std::int64_t blocks, std::int64_t bytes) noexcept;

}  // namespace detail
}  // namespace memarray
