#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/state/timeout.hpp>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace memarray::detail {

enum class FutexScope : bool { process, shared_memory };

/// Blocks at most while `epoch` is `seen`.
MEMARRAY_API void futex_wait(std::atomic<std::uint32_t>& epoch, std::uint32_t seen,
                             std::chrono::nanoseconds for_at_most, FutexScope scope) noexcept;
/// Changes `epoch` and wakes all its waiters.
void futex_wake_all(std::atomic<std::uint32_t>& epoch, FutexScope scope) noexcept;

/// Attempts before the first futex wait, without and with a yield between.
struct Attempts {
  int spins;
  int yields;
};

/// Waits until `attempt()` succeeds, without the interpreter lock. Returns false after `timeout`, or if `is_in_vain()`.
/// `announce()` makes the next release call `futex_wake_all`, while its result exists. Polls signals every 20 ms;
/// throws `Interrupted`.
template <class Attempt, class Announce, class Vain>
bool wait_with_futex(std::atomic<std::uint32_t>& epoch, FutexScope scope, Timeout timeout, Attempts attempts,
                     Attempt const& attempt, Announce const& announce, Vain const& is_in_vain) {
  constexpr std::chrono::nanoseconds slice = std::chrono::milliseconds(20);
  if (timeout && *timeout <= no_wait) return false;
  Deadline const deadline(timeout);
  RuntimeRelease released;
  for (int i = 0; i < attempts.spins + attempts.yields; ++i) {
    if (attempt()) return true;
    if (i < attempts.spins) continue;
    if (Timeout const rest = deadline.rest(); rest && *rest <= no_wait) return false;
    ::sched_yield();
  }
  for (;;) {
    {
      // Announced before the attempt: a later release wakes this thread.
      std::uint32_t const seen = epoch.load(std::memory_order_seq_cst);
      [[maybe_unused]] auto const announced = announce();
      if (attempt()) return true;
      Timeout const rest = deadline.rest();
      if ((rest && *rest <= no_wait) || is_in_vain()) return false;
      futex_wait(epoch, seen, std::min(slice, rest.value_or(slice)), scope);
    }
    released.poll_signals();
  }
}

}  // namespace memarray::detail
