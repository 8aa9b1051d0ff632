#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// The choice between two ways in which reductions read memory. One reads in eight places at once, each prefetched. The
/// other reads long runs from one end to the other, and leaves prefetching to the processor. The faster way depends on
/// the processor, by a factor of nearly two in either direction. So the first jobs much larger than the caches try both
/// by turns, and a clearly faster one is kept. Both ways give bit-identical results.
class ReadingOrder {
 public:
  enum class Way : int { side_by_side, in_order };

  /// Returns the process's choice for runs that become one result each (`of_runs`), or for rows that are added to a row
  /// of results (`of_rows`).
  MEMARRAY_API static ReadingOrder& of_runs() noexcept;
  MEMARRAY_API static ReadingOrder& of_rows() noexcept;

  /// Calls `read(way)`, which reads `bytes` bytes of a job whose memory spans `job` bytes. Times it during the trials.
  template <class Read>
  void run(std::size_t bytes, std::size_t job, Read const& read) {
    Way const way = next(job);
    if (_trials.load(std::memory_order_relaxed) >= trials || job < large || bytes < least) return read(way);
    auto const start = std::chrono::steady_clock::now();
    read(way);
    took(way, bytes, std::chrono::steady_clock::now() - start);
  }

  /// Returns the way for the next piece of a job.
  [[nodiscard]] Way next(std::size_t job) const noexcept {
    int const tried = _trials.load(std::memory_order_relaxed);
    if (tried >= trials || job < large) return _way.load(std::memory_order_relaxed);
    return tried / turn % 2 == 0 ? Way::side_by_side : Way::in_order;
  }
  /// Records that a piece was read in `way`. The last trial decides.
  MEMARRAY_API void took(Way way, std::size_t bytes, std::chrono::nanoseconds time) noexcept;
  /// Fixes the way and ends the trials; for tests.
  void choose(Way way) noexcept {
    _way.store(way, std::memory_order_relaxed);
    _trials.store(trials, std::memory_order_relaxed);
  }

  /// Smaller jobs may be in the caches, and are read without a trial.
  static constexpr std::size_t large = std::size_t{48} << 20;
  /// Smaller pieces are too short to time.
  static constexpr std::size_t least = std::size_t{1} << 18;
  static constexpr int trials = 48;
  /// Consecutive pieces that are read in one way before the other: the first of them pays for the change.
  static constexpr int turn = 4;

 private:
  std::atomic<Way> _way{Way::side_by_side};
  std::atomic<int> _trials{0};
  /// The cost of each piece, in femtoseconds for a byte, and the number of pieces; 0 if not yet written.
  struct Costs {
    [[nodiscard]] std::int64_t median() const noexcept;  ///< 0 if there are none
    std::atomic<int> count{0};
    std::atomic<std::int64_t> each[trials]{};
  };
  Costs _costs[2];
};

}  // namespace memarray::detail
