#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// How reductions read memory: in eight places at once, each fetched ahead, or as the processor fetches by itself, long
/// runs from one end to the other. Which is faster depends on the processor, nearly twice either way, so the first jobs
/// that are much larger than caches try both by turns, and what took clearly less is done from then on. The results are
/// the same to the last bit.
class ReadingOrder {
 public:
  enum class Way : int { side_by_side, in_order };

  /// Those of this process: of runs that become one result each, and of rows that are added to a row of results.
  MEMARRAY_API static ReadingOrder& of_runs() noexcept;
  MEMARRAY_API static ReadingOrder& of_rows() noexcept;

  /// Calls `read(way)`, which reads `bytes` of a job whose memory spans `job` bytes.
  template <class Read>
  void run(std::size_t bytes, std::size_t job, Read const& read) {
    Way const way = next(job);
    if (_trials.load(std::memory_order_relaxed) >= trials || job < large || bytes < least) return read(way);
    auto const start = std::chrono::steady_clock::now();
    read(way);
    took(way, bytes, std::chrono::steady_clock::now() - start);
  }

  /// The way of the next piece of a job.
  [[nodiscard]] Way next(std::size_t job) const noexcept {
    int const tried = _trials.load(std::memory_order_relaxed);
    if (tried >= trials || job < large) return _way.load(std::memory_order_relaxed);
    return tried / turn % 2 == 0 ? Way::side_by_side : Way::in_order;
  }
  /// That a piece was read so. The last trial decides.
  MEMARRAY_API void took(Way way, std::size_t bytes, std::chrono::nanoseconds time) noexcept;
  /// From now on, and no trials; for tests.
  void choose(Way way) noexcept {
    _way.store(way, std::memory_order_relaxed);
    _trials.store(trials, std::memory_order_relaxed);
  }

  /// Jobs of fewer bytes may be in the caches, and are read as before there was a choice.
  static constexpr std::size_t large = std::size_t{48} << 20;
  /// Pieces of fewer bytes say little.
  static constexpr std::size_t least = std::size_t{1} << 18;
  static constexpr int trials = 48;
  /// Pieces that are read the same way before the other has its turn: the first of them pays for the change.
  static constexpr int turn = 4;

 private:
  std::atomic<Way> _way{Way::side_by_side};
  std::atomic<int> _trials{0};
  /// What each piece took, in femtoseconds for a byte, and how many there are; 0: not yet written down.
  struct Costs {
    [[nodiscard]] std::int64_t median() const noexcept;  ///< 0 without any
    std::atomic<int> count{0};
    std::atomic<std::int64_t> each[trials]{};
  };
  Costs _costs[2];
};

}  // namespace memarray::detail
