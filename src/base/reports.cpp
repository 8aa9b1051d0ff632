#include <memarray/base/reports.hpp>

#include <pthread.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>

namespace memarray {
namespace {

constexpr std::size_t kept_reports = 10'000;

struct Queue {
  std::mutex mutex;
  std::deque<Report> reports;
};

Queue& queue() {
  static Queue* const instance = [] {
    // A forked child must not inherit a locked mutex.
    pthread_atfork([] { queue().mutex.lock(); }, [] { queue().mutex.unlock(); }, [] { queue().mutex.unlock(); });
    return new Queue;  // never destroyed: threads may report while the process exits
  }();
  return *instance;
}

void push(Report report) {
  Queue& q = queue();
  std::lock_guard const guard(q.mutex);
  if (q.reports.size() == kept_reports) q.reports.pop_front();
  q.reports.push_back(std::move(report));
  detail::any_reports.store(true, std::memory_order_relaxed);
}

}  // namespace

constinit std::atomic<bool> detail::any_reports{false};

Counters& counters() noexcept {
  static constinit Counters instance;
  return instance;
}

void report_copy(std::int64_t bytes, std::string const& why) {
  counters().copies.fetch_add(1, std::memory_order_relaxed);
  counters().copied_bytes.fetch_add(bytes, std::memory_order_relaxed);
  push({Report::Kind::copy, bytes, "copied " + std::to_string(bytes) + " bytes: " + why});
}

void report_wait(std::string const& why) {
  counters().waits.fetch_add(1, std::memory_order_relaxed);
  push({Report::Kind::wait, 0, "waited: " + why});
}

void report_death(std::string const& what) { push({Report::Kind::death, 0, what}); }

std::vector<Report> take_reports() {
  Queue& q = queue();
  std::lock_guard const guard(q.mutex);
  // Allocates first: if that throws, the reports stay queued.
  std::vector<Report> taken;
  taken.reserve(q.reports.size());
  std::ranges::move(q.reports, std::back_inserter(taken));
  q.reports.clear();
  detail::any_reports.store(false, std::memory_order_relaxed);
  return taken;
}

}  // namespace memarray
