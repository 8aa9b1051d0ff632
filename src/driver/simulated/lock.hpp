#pragma once

#include <memarray/detail/base/fork_lock.hpp>

namespace memarray::simulated {

/// For short sections of the emulation, always within `Hidden`. Nothing waits for a device, and no code of the program
/// runs, while it is held.
class Lock {
 public:
  void lock() noexcept { static_cast<void>(_lock.lock()); }
  void unlock() noexcept { _lock.unlock(); }

 private:
  detail::ForkLock _lock;
};

}  // namespace memarray::simulated
