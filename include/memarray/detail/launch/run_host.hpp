#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace memarray::detail {

/// Launches of one functor still to run unmeasured, as measured ones were short. Packed by `run_host`; initially 0.
using ShortLaunches = std::atomic<std::uint32_t>;

struct LoopSharing {
  int threads = 0;                      ///< 0: those of the process, if sharing pays
  std::int64_t grain = 0;               ///< least positions that a thread takes at a time; 0: by time and memory
  ShortLaunches* short_left = nullptr;  ///< of the loop's functor

  /// Returns the grain in units of `positions` positions, rounded up.
  [[nodiscard]] constexpr std::int64_t grain_in(std::int64_t positions) const noexcept {
    return grain / positions + (grain % positions != 0 ? 1 : 0);
  }
};

/// Calls `run(context, begin, end)` for pieces of [0, size), on host threads if that pays. `bytes`: memory that the
/// loop reads and writes.
MEMARRAY_API void run_host(std::int64_t size, std::size_t bytes, LoopSharing sharing,
                           void (*run)(void const* context, std::int64_t begin, std::int64_t end), void const* context);

template <class Body>
  requires std::is_invocable_v<Body const&, std::int64_t, std::int64_t>
void run_host(std::int64_t size, std::size_t bytes, LoopSharing sharing, Body const& body) {
  run_host(
      size, bytes, sharing,
      [](void const* context, std::int64_t begin, std::int64_t end) {
        (*static_cast<Body const*>(context))(begin, end);
      },
      std::addressof(body));
}

}  // namespace memarray::detail
