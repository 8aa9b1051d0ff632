#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "hidden.hpp"

namespace memarray::simulated {

/// The completion of one piece of work. A caller that sees it, by `wait` or `poll`, is ordered after the work.
class Completion {
 public:
  using Clock = std::chrono::steady_clock;

  /// Called once, by the stream.
  void finish() noexcept {
    _edge.leave();
    _when = Clock::now();
    _is_done.store(1, std::memory_order_seq_cst);
    _is_done.notify_all();
  }

  void wait() noexcept {
    _is_done.wait(0, std::memory_order_acquire);
    _edge.arrive();
  }

  [[nodiscard]] bool poll() noexcept {
    if (_is_done.load(std::memory_order_acquire) == 0) return false;
    _edge.arrive();
    return true;
  }

  /// Valid after completion.
  [[nodiscard]] Clock::time_point when() const noexcept { return _when; }

 private:
  std::atomic<std::uint32_t> _is_done{0};
  Edge _edge;
  Clock::time_point _when;
};

}  // namespace memarray::simulated
