#pragma once

#include <memarray/detail/base/fork_lock.hpp>

namespace memarray::simulated {

/// A lock for short sections within `Hidden`, which neither wait for devices nor run the program's code.
class Lock {
 public:
  void lock() noexcept { static_cast<void>(_lock.lock()); }
  void unlock() noexcept { _lock.unlock(); }

 private:
  detail::ForkLock _lock;
};

}  // namespace memarray::simulated
