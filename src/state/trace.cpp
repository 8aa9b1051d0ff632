#include <memarray/detail/state/trace.hpp>

#include <pthread.h>

#include <atomic>
#include <map>
#include <mutex>

namespace memarray::detail {
namespace {

struct Traces {
  struct Entry {
    void const* array;
    std::string where;
  };
  std::mutex mutex;
  std::map<void const*, Entry> open;
  std::atomic<bool> any{false};
};

Traces& traces() {
  static Traces* const instance = [] {
    pthread_atfork([] { traces().mutex.lock(); }, [] { traces().mutex.unlock(); }, [] { traces().mutex.unlock(); });
    return new Traces;
  }();
  return *instance;
}

}  // namespace

void trace_opened(void const* array, void const* lease, std::string where) {
  Traces& t = traces();
  std::lock_guard const guard(t.mutex);
  t.open[lease] = {array, std::move(where)};
  t.any.store(true, std::memory_order_relaxed);
}

void trace_closed(void const* lease) noexcept {
  Traces& t = traces();
  if (!t.any.load(std::memory_order_relaxed)) return;
  std::lock_guard const guard(t.mutex);
  t.open.erase(lease);
  if (t.open.empty()) t.any.store(false, std::memory_order_relaxed);
}

std::vector<std::string> traced_leases(void const* array) {
  Traces& t = traces();
  std::lock_guard const guard(t.mutex);
  std::vector<std::string> lines;
  for (auto const& [lease, entry] : t.open)
    if (entry.array == array) lines.push_back(entry.where);
  return lines;
}

}  // namespace memarray::detail
