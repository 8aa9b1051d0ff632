#include "futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace memarray::detail {
namespace {

constexpr int option_of(FutexScope scope) noexcept { return scope == FutexScope::process ? FUTEX_PRIVATE_FLAG : 0; }

}  // namespace

void futex_wait(std::atomic<std::uint32_t>& epoch, std::uint32_t seen, std::chrono::nanoseconds for_at_most,
                FutexScope scope) noexcept {
  static_assert(sizeof(epoch) == sizeof(std::uint32_t));
  timespec const limit{static_cast<std::time_t>(for_at_most.count() / 1'000'000'000),
                       static_cast<long>(for_at_most.count() % 1'000'000'000)};
  ::syscall(SYS_futex, &epoch, FUTEX_WAIT | option_of(scope), seen, &limit, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& epoch, FutexScope scope) noexcept {
  epoch.fetch_add(1, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &epoch, FUTEX_WAKE | option_of(scope), INT_MAX, nullptr, nullptr, 0);
}

}  // namespace memarray::detail
