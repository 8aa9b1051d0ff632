#pragma once

#include <memarray/detail/base/fork_lock.hpp>

namespace memarray::simulated {

/// A lock for short sections of the emulation, always within `Hidden`. While it is held, no thread waits for a device
/// and no code of the program runs.
class Lock {
 public:
  void lock() noexcept { static_cast<void>(_lock.lock()); }
  void unlock() noexcept { _lock.unlock(); }

 private:
  detail::ForkLock _lock;
};

}  // namespace memarray::simulated
