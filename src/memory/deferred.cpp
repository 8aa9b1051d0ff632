#include "deferred.hpp"

#include <atomic>

namespace memarray::detail {
namespace {

constinit std::atomic<Deferred*> newest{nullptr};

}  // namespace

void defer(Deferred* later) noexcept {
  later->next = newest.load(std::memory_order_relaxed);
  while (!newest.compare_exchange_weak(later->next, later, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void run_deferred() noexcept {
  if (!newest.load(std::memory_order_relaxed)) return;
  Deferred* taken = newest.exchange(nullptr, std::memory_order_acquire);
  Deferred* oldest = nullptr;
  while (taken) {
    Deferred* const next = taken->next;
    taken->next = oldest;
    oldest = taken;
    taken = next;
  }
  while (oldest) {
    Deferred* const next = oldest->next;  // `run` may destroy `oldest`
    oldest->run(oldest);
    oldest = next;
  }
}

}  // namespace memarray::detail
