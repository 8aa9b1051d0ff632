#include <memarray/detail/base/fork.hpp>

#include <pthread.h>

#include <atomic>

namespace memarray::detail {

constinit std::atomic<std::uint32_t> current_fork_generation{0};

namespace {

int const registered =
    pthread_atfork(nullptr, nullptr, [] { current_fork_generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint32_t fork_generation() noexcept {
  static_cast<void>(registered);
  return current_fork_generation.load(std::memory_order_relaxed);
}

}  // namespace memarray::detail
