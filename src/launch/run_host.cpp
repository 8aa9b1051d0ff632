#include "base/loop_pool.hpp"
#include "base/ticks.hpp"

#include <memarray/base/options.hpp>
#include <memarray/base/threads.hpp>
#include <memarray/detail/launch/run_host.hpp>

#include <algorithm>
#include <atomic>
#include <bit>

namespace memarray::detail {
namespace {

// Times in microseconds.
constexpr std::uint64_t worth_sharing_awake = 2;
constexpr std::uint64_t worth_waking_in_burst = 4;
constexpr std::uint64_t worth_waking = 50;
constexpr std::uint64_t burst_gap = 100;
constexpr std::uint64_t time_of_piece = 1;

// True if the loop that began at `start` follows another one. Its own earlier call is later than `start`: the unsigned
// difference is then large.
bool follows_short_loop(std::uint64_t start, std::uint64_t now) noexcept {
  static std::atomic<std::uint64_t> last{0};
  return start - last.exchange(now, std::memory_order_relaxed) < burst_gap * ticks_of_microsecond();
}

// Bytes. Smaller launches after short ones run unmeasured: reading the time would take as long.
constexpr std::size_t small = std::size_t{16} << 10;

// `ShortLaunches`: [bit width of the most indices measured][launches to permit next: 4 bits][launches left: 4].
constexpr std::uint32_t left_mask = 15;

std::uint32_t width_of(std::int64_t size) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(size)));
}

// True if this launch is to run unmeasured. A launch with more indices than those measured may be long.
bool take_unmeasured(ShortLaunches& launches, std::int64_t size) noexcept {
  std::uint32_t const state = launches.load(std::memory_order_relaxed);
  if ((state & left_mask) == 0 || width_of(size) > state >> 8) return false;
  launches.store(state - 1, std::memory_order_relaxed);
  return true;
}

// Each short launch doubles the next number of unmeasured ones: 0, 1, 3, 7, 15. The launch after the first cheap
// one is measured.
void record_measured(ShortLaunches& launches, std::int64_t size, bool is_short) noexcept {
  std::uint32_t const state = is_short ? launches.load(std::memory_order_relaxed) : 0;
  std::uint32_t const left = state >> 4 & left_mask;
  std::uint32_t const next = std::min(2 * left + 1, left_mask);
  launches.store(is_short ? std::max(width_of(size), state >> 8) << 8 | next << 4 | left : 0,
                 std::memory_order_relaxed);
}

struct Started {
  std::int64_t end;    // of what has run
  std::uint64_t rest;  // estimated, in microseconds
};
template <class Run>
Started run_until_worth_sharing(std::int64_t size, ShortLaunches* short_left, Run const& run) {
  std::uint64_t const start = ticks();
  std::int64_t end = 0;
  // The time is read after each quarter, so a cheap beginning, even of half of the loop, does not decide for its end.
  std::int64_t const most = std::max<std::int64_t>(1, size / 4);
  for (std::int64_t piece = std::max<std::int64_t>(1, size / 16);; piece = std::min(3 * end, most)) {
    if (piece >= size - end) {
      run(end, size);
      if (short_left)
        record_measured(*short_left, size, ticks() - start < worth_sharing_awake * ticks_of_microsecond());
      return {size, 0};
    }
    run(end, end + piece);
    end += piece;
    std::uint64_t const now = ticks();
    // In floating point, as the product may exceed an integer; capped at a minute.
    double const rest = static_cast<double>(now - start) * static_cast<double>(size - end) / static_cast<double>(end);
    auto const microseconds =
        static_cast<std::uint64_t>(std::min(rest / static_cast<double>(ticks_of_microsecond()), 6e7));
    if (microseconds < worth_sharing_awake) continue;
    if (workers_are_awake() || microseconds >= worth_waking) return {end, microseconds};
    if (microseconds >= worth_waking_in_burst && follows_short_loop(start, now)) return {end, microseconds};
  }
}

}  // namespace

void run_host(std::int64_t size, std::size_t bytes, LoopSharing sharing,
              void (*run)(void const*, std::int64_t, std::int64_t), void const* context) {
  if (size <= 0) return;
  int width = sharing.threads != 0 ? sharing.threads : options().threads.load(std::memory_order_relaxed);
  if (width == 1 || size <= std::max<std::int64_t>(1, sharing.grain)) return run(context, 0, size);

  constexpr std::int64_t bytes_of_piece = std::int64_t{1} << 16;
  std::int64_t begin = 0;
  std::int64_t chunks = 0;  // 0: not estimated, take the most
  if (sharing.grain != 0) {
    chunks = size / sharing.grain;
  } else if (bytes >= bytes_worth_sharing) {
    chunks = static_cast<std::int64_t>(bytes) / bytes_of_piece;
  } else if (sharing.threads == 0) {
    ShortLaunches* const short_left = bytes <= small ? sharing.short_left : nullptr;
    if (short_left && take_unmeasured(*short_left, size)) return run(context, 0, size);
    Started const started = run_until_worth_sharing(
        size, short_left, [&](std::int64_t first, std::int64_t last) { run(context, first, last); });
    if (started.end == size) return;
    if (short_left) record_measured(*short_left, size, false);
    begin = started.end;
    chunks = static_cast<std::int64_t>(started.rest / time_of_piece);
  }
  width = width <= 0 ? threads() : std::min(width, most_threads);
  if (width == 1) return run(context, begin, size);
  std::int64_t const even = std::int64_t{4} * width;
  std::int64_t const most = std::int64_t{32} * width;
  if (sharing.grain == 0) chunks = chunks == 0 ? most : std::clamp(chunks, even, most);
  chunks = std::clamp<std::int64_t>(chunks, 1, size - begin);
  share_loop(width, chunks, [&](std::int64_t chunk) {
    run(context, begin + begin_of_part(size - begin, chunks, chunk),
        begin + begin_of_part(size - begin, chunks, chunk + 1));
  });
}

}  // namespace memarray::detail
