#pragma once

#include <atomic>
#include <cstdint>

#include <memarray/detail/base/fork.hpp>

namespace memarray::detail {

/// A small lock for short sections that a forked child can always take, even if a thread that it does not have held it
/// while the process forked.
class ForkLock {
 public:
  /// False if what the lock guards was left in the middle of a change and can only be abandoned. Locked either way.
  [[nodiscard]] bool lock() noexcept {
    std::uint32_t const mine = fork_generation() + 1;
    for (;;) {
      std::uint32_t holder = 0;
      if (_holder.compare_exchange_weak(holder, mine, std::memory_order_acquire, std::memory_order_relaxed)) {
        return true;
      }
      if (holder != 0 && holder != mine &&
          _holder.compare_exchange_strong(holder, mine, std::memory_order_acquire, std::memory_order_relaxed)) {
        return false;
      }
      if (holder == mine) {
        _holder.wait(holder, std::memory_order_relaxed);
      }
    }
  }

  void unlock() noexcept {
    // Sequentially consistent, as a notification first looks whether anybody waits and must not look too early.
    _holder.store(0, std::memory_order_seq_cst);
    _holder.notify_one();
  }

 private:
  std::atomic<std::uint32_t> _holder{0};  // the holder's fork generation and 1, or 0
};

}  // namespace memarray::detail
