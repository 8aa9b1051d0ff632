#pragma once

#include <memarray/base/config.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace memarray::detail {

/// The blocks and threads of one kernel that a device runs at once.
struct Occupancy {
  int threads;     ///< in a block
  int blocks;      ///< on all its processors together
  int processors;  ///< that share the blocks

  friend bool operator==(Occupancy const&, Occupancy const&) noexcept = default;
};

/// A cache of one kernel's occupancy, so that launches query the driver once for each device. Lock-free; threads that
/// miss at the same time each query it.
class MEMARRAY_API OccupancyCache {
 public:
  constexpr OccupancyCache() noexcept = default;

  [[nodiscard]] std::optional<Occupancy> find(int device_id) const noexcept;
  /// Stores nothing for devices beyond the first 32.
  void keep(int device_id, Occupancy const& occupancy) noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, 32> _known{};
};

/// The layout of a loop over elements on a device.
struct LaunchPlan {
  unsigned blocks;
  unsigned threads;
  std::int64_t vectors;  ///< number of whole vectors, which come first; the other elements follow one by one

  friend bool operator==(LaunchPlan const&, LaunchPlan const&) noexcept = default;
};

/// Vectors that a thread has in flight at once: one alone does not saturate the memory.
inline constexpr int vectors_together = 2;

/// Returns the plan for `size` elements, at least one. `width`: elements of a vector; 0 if vectors are not possible.
[[nodiscard]] MEMARRAY_API LaunchPlan plan_launch(std::int64_t size, int width, Occupancy const& occupancy) noexcept;

}  // namespace memarray::detail
