#pragma once

#include <atomic>
#include <cstdint>
#include <new>

#include <memarray/detail/base/fork.hpp>

namespace memarray::detail {

/// A lock that a forked child can acquire even if a thread of the parent held it.
class ForkLock {
 public:
  /// Acquires the lock. Returns false if a fork may have interrupted a change of the guarded data: abandon that.
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
    // Sequentially consistent: `notify_one` must not check for waiters before the store.
    _holder.store(0, std::memory_order_seq_cst);
    _holder.notify_one();
  }

 private:
  std::atomic<std::uint32_t> _holder{0};  // the holder's fork generation + 1; 0 if free
};

/// Replaces a value that a fork left half changed; leaks the old one.
template <class T>
void abandon(T& value) noexcept {
  ::new (static_cast<void*>(&value)) T();
}

/// A held `ForkLock`. Calls `abandon_data` if `lock` returned false.
class ForkLockGuard {
 public:
  template <class Abandon>
  ForkLockGuard(ForkLock& lock, Abandon const& abandon_data) noexcept : _lock(lock) {
    if (!_lock.lock()) abandon_data();
  }
  ~ForkLockGuard() { _lock.unlock(); }
  ForkLockGuard(ForkLockGuard const&) = delete;
  ForkLockGuard& operator=(ForkLockGuard const&) = delete;

 private:
  ForkLock& _lock;
};

}  // namespace memarray::detail
