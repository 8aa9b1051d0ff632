#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "free_ranges.hpp"

namespace memarray::simulated {

namespace pool_attribute {
inline constexpr int reuse_follows_events = 1;
inline constexpr int reuse_is_opportunistic = 2;
inline constexpr int reuse_adds_dependencies = 3;
inline constexpr int release_threshold = 4;
inline constexpr int reserved_current = 5;
inline constexpr int reserved_high = 6;
inline constexpr int used_current = 7;
inline constexpr int used_high = 8;
}  // namespace pool_attribute

/// A pool, which caches freed memory. Guarded by the session's lock.
struct Pool {
  cu::MemoryPool handle = nullptr;
  int device = 0;
  std::size_t max_size = 0;  // 0: unlimited
  bool is_default = false;
  bool is_destroyed = false;
  std::string site;
  std::set<int> reached_by;  // other devices with access
  int reuse[3] = {1, 1, 1};  // values of attributes 1 to 3
  std::uint64_t release_threshold = 0;
  std::uint64_t reserved = 0;
  std::uint64_t reserved_high = 0;
  std::uint64_t used = 0;
  std::uint64_t used_high = 0;
  FreeRanges kept;

  /// Allocates for `stream`: cached memory freed in its order or completely freed in another's, else device memory.
  /// `behind`: see `FreeRanges::take`.
  [[nodiscard]] std::optional<std::uintptr_t> allocate(std::size_t bytes, cu::Stream stream, FreeRanges& device_memory,
                                                       std::vector<std::shared_ptr<Freeing>>& behind);
  void free(std::uintptr_t begin, std::size_t bytes, std::shared_ptr<Freeing> freeing);
  void trim(std::uint64_t keep, FreeRanges& device_memory);
  [[nodiscard]] cu::Result set(int attribute, void const* value);
  [[nodiscard]] cu::Result get(int attribute, void* value) const;
};

}  // namespace memarray::simulated
