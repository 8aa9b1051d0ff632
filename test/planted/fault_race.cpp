// sanitizer: tsan
// expect: data race
#include <memarray/base/threads.hpp>

#include <atomic>

extern "C" __attribute__((visibility("default"))) void fault() {
  int volatile unguarded = 0;
  // Each chunk waits for the other, so that two threads access the variable concurrently.
  std::atomic<int> arrived{0};
  memarray::parallel_for(2, [&](std::int64_t) {
    arrived.fetch_add(1, std::memory_order_relaxed);
    for (int patience = 0; arrived.load(std::memory_order_relaxed) < 2 && patience < 200'000'000; ++patience) {
    }
    // Repeated, because the sanitizer's records may miss two simultaneous accesses.
    for (int i = 0; i < 1000; ++i) unguarded = unguarded + 1;
  });
}
