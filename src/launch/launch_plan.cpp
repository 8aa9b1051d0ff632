#include <memarray/detail/launch/launch_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memarray::detail {
namespace {

constexpr std::int64_t warp = 32;

// Beyond CUDA's limit, threads continue with further elements. Below it, one element or vector for each thread is
// fastest.
constexpr std::int64_t most_blocks = std::numeric_limits<std::int32_t>::max();

constexpr std::int64_t divide_up(std::int64_t count, std::int64_t by) noexcept { return (count + by - 1) / by; }

}  // namespace

std::optional<Occupancy> OccupancyCache::find(int device_id) const noexcept {
  if (device_id < 0 || static_cast<std::size_t>(device_id) >= _known.size()) return std::nullopt;
  std::uint64_t const known = _known[static_cast<std::size_t>(device_id)].load(std::memory_order_relaxed);
  if (known == 0) return std::nullopt;
  return Occupancy{static_cast<int>(known & 0xFFFF), static_cast<int>(known >> 32),
                   static_cast<int>(known >> 16 & 0xFFFF)};
}

void OccupancyCache::keep(int device_id, Occupancy const& occupancy) noexcept {
  if (device_id < 0 || static_cast<std::size_t>(device_id) >= _known.size()) return;
  _known[static_cast<std::size_t>(device_id)].store(static_cast<std::uint64_t>(occupancy.blocks) << 32 |
                                                        static_cast<std::uint64_t>(occupancy.processors) << 16 |
                                                        static_cast<std::uint64_t>(occupancy.threads),
                                                    std::memory_order_relaxed);
}

LaunchPlan plan_launch(std::int64_t size, int width, Occupancy const& occupancy) noexcept {
  std::int64_t threads = occupancy.threads;
  std::int64_t const at_once = threads * occupancy.blocks;
  // Vectors use fewer threads; a small loop may need all of them.
  std::int64_t const vectors = width > 0 && size / width >= at_once ? size / width : 0;
  // Few elements are spread over all processors.
  if (size < threads * occupancy.processors)
    threads = std::clamp(divide_up(divide_up(size, occupancy.processors), warp) * warp, warp, threads);
  std::int64_t const needed = divide_up(vectors > 0 ? vectors : size, threads);
  return {static_cast<unsigned>(std::min(needed, most_blocks)), static_cast<unsigned>(threads), vectors};
}

}  // namespace memarray::detail
