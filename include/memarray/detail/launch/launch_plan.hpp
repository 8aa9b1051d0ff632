#pragma once

#include <memarray/base/config.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace memarray::detail {

/// The blocks of one kernel that a device runs at once.
struct Occupancy {
  int threads;     ///< per block
  int blocks;      ///< on the whole device
  int processors;  ///< multiprocessors

  friend bool operator==(Occupancy const&, Occupancy const&) noexcept = default;
};

/// A lock-free cache of one kernel's occupancy on each device.
class MEMARRAY_API OccupancyCache {
 public:
  constexpr OccupancyCache() noexcept = default;

  [[nodiscard]] std::optional<Occupancy> find(int device_id) const noexcept;
  /// Ignores devices beyond the first 32.
  void keep(int device_id, Occupancy const& occupancy) noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, 32> _known{};
};

struct LaunchPlan {
  unsigned blocks;
  unsigned threads;
  std::int64_t vectors;  ///< whole vectors, before the single elements

  friend bool operator==(LaunchPlan const&, LaunchPlan const&) noexcept = default;
};

/// Requires `size` ≥ 1. `width`: elements of a vector; 0 without vectors.
[[nodiscard]] MEMARRAY_API LaunchPlan plan_launch(std::int64_t size, int width, Occupancy const& occupancy) noexcept;

}  // namespace memarray::detail
