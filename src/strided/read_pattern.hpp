#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace memarray::detail {

/// The order in which reductions read memory much larger than the caches. Both patterns give bit-identical results.
enum class ReadPattern : std::uint8_t {
  interleaved,  ///< in eight places at once, each prefetched
  sequential,   ///< from end to end, in long runs that the processor prefetches
};

/// A `ReadPattern`, chosen once in a process. Either may be nearly twice as fast, depending on the processor, so the
/// first large job measures both on its own memory.
class ReadPatternChoice {
 public:
  /// Returns the choice for runs that become one result each; `of_rows`: for rows added to a row of results.
  MEMARRAY_API static ReadPatternChoice& of_runs() noexcept;
  MEMARRAY_API static ReadPatternChoice& of_rows() noexcept;

  /// Picoseconds per element.
  using Cost = std::int64_t;
  /// Samples of a measurement. Patterns alternate every `turn` samples, whose first is not counted.
  static constexpr int samples = 16;
  static constexpr int turn = 4;
  /// Least bytes of a measured job: parts of smaller ones may be in the caches.
  static constexpr std::size_t large_job = std::size_t{48} << 20;
  /// Least bytes of a sample.
  static constexpr std::size_t least_sample = std::size_t{1} << 18;

  /// Returns `interleaved` before the measurement.
  [[nodiscard]] ReadPattern get() const noexcept { return _pattern.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_made() const noexcept { return _is_made.load(std::memory_order_relaxed); }
  void set(ReadPattern pattern) noexcept {
    _pattern.store(pattern, std::memory_order_relaxed);
    _is_made.store(true, std::memory_order_relaxed);
  }
  /// Times `read(sample, pattern)`, which returns a number of elements, for each sample on the calling thread, and sets
  /// the faster pattern. If threads measure concurrently, the last decides.
  template <class Read>
  void measure(Read const& read) {
    Cost costs[2][samples / 2];
    int counts[2] = {0, 0};
    for (int sample = 0; sample < samples; ++sample) {
      int const which = sample / turn % 2;
      auto const start = std::chrono::steady_clock::now();
      std::int64_t const elements = read(sample, static_cast<ReadPattern>(which));
      std::chrono::nanoseconds const time = std::chrono::steady_clock::now() - start;
      if (sample % turn != 0) costs[which][counts[which]++] = time.count() * 1000 / elements;
    }
    set(faster({costs[0], static_cast<std::size_t>(counts[0])}, {costs[1], static_cast<std::size_t>(counts[1])}));
  }
  /// Compares the medians, which ignore preempted and cached samples, and reorders the costs. Returns `sequential` only
  /// if faster by a sixth: on some layouts it loses more than it gains on dense memory.
  [[nodiscard]] MEMARRAY_API static ReadPattern faster(std::span<Cost> interleaved,
                                                       std::span<Cost> sequential) noexcept;

 private:
  std::atomic<ReadPattern> _pattern{ReadPattern::interleaved};
  std::atomic<bool> _is_made{false};
};

}  // namespace memarray::detail
