#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "hidden.hpp"

namespace memarray::simulated {

/// The end of one piece of work: what an event records, what streams and threads wait for.
class Completion {
 public:
  using Clock = std::chrono::steady_clock;

  /// Once, by the stream that ran the work.
  void finish() noexcept {
    _edge.leave();
    _when = Clock::now();
    _is_done.store(1, std::memory_order_seq_cst);
    _is_done.notify_all();
  }

  /// The caller then comes after the work.
  void wait() noexcept {
    _is_done.wait(0, std::memory_order_acquire);
    _edge.arrive();
  }

  /// Whether the work has ended; if so, the caller comes after it.
  [[nodiscard]] bool poll() noexcept {
    if (_is_done.load(std::memory_order_acquire) == 0) return false;
    _edge.arrive();
    return true;
  }

  /// When the work ended; of work that has.
  [[nodiscard]] Clock::time_point when() const noexcept { return _when; }

 private:
  std::atomic<std::uint32_t> _is_done{0};
  Edge _edge;
  Clock::time_point _when;
};

}  // namespace memarray::simulated
