#pragma once

#include <memarray/base/config.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace memarray::detail {

/// What a device runs of one kernel at once.
struct Occupancy {
  int threads;     ///< of a block
  int blocks;      ///< on all its processors together
  int processors;  ///< that the blocks are shared out to

  friend bool operator==(Occupancy const&, Occupancy const&) noexcept = default;
};

/// Remembers it for one kernel, so that a launch asks the driver once for each device. Lock-free; threads that come
/// first together each ask.
class MEMARRAY_API OccupancyCache {
 public:
  constexpr OccupancyCache() noexcept = default;

  [[nodiscard]] std::optional<Occupancy> find(int device_id) const noexcept;
  /// Of a device beyond the first 32 nothing is kept.
  void keep(int device_id, Occupancy const& occupancy) noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, 32> _known{};
};

/// How a loop over elements is laid out on a device.
struct LaunchPlan {
  unsigned blocks;
  unsigned threads;
  std::int64_t vectors;  ///< so many whole vectors first, then the other elements one by one

  friend bool operator==(LaunchPlan const&, LaunchPlan const&) noexcept = default;
};

/// How many vectors a thread has on their way at once: one alone does not fill the memory's pipes.
inline constexpr int vectors_together = 2;

/// `size`: elements, at least one. `width`: elements of a vector; 0 where there can be none.
[[nodiscard]] MEMARRAY_API LaunchPlan plan_launch(std::int64_t size, int width, Occupancy const& occupancy) noexcept;

}  // namespace memarray::detail
