#include <memarray/base/reports.hpp>

#include <pthread.h>

#include <deque>
#include <iterator>
#include <mutex>

namespace memarray {
namespace {

constexpr std::size_t kept_reports = 10'000;

struct BoundStream {
  std::mutex mutex;
  std::deque<Report> reports;
};

BoundStream& queue() {
  static BoundStream* const instance = [] {
    // A forked child must not inherit a mutex that is locked by a thread of its parent.
    pthread_atfork([] { queue().mutex.lock(); }, [] { queue().mutex.unlock(); }, [] { queue().mutex.unlock(); });
    return new BoundStream;  // never destroyed: threads may report while the process exits
  }();
  return *instance;
}

void push(Report report) {
  BoundStream& q = queue();
  std::lock_guard const guard(q.mutex);
  if (q.reports.size() == kept_reports) q.reports.pop_front();
  q.reports.push_back(std::move(report));
  detail::any_reports.store(true, std::memory_order_relaxed);
}

}  // namespace

constinit std::atomic<bool> detail::any_reports{false};

Counters& counters() noexcept {
  static constinit Counters instance;  // needs no destructor and no allocation
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
  BoundStream& q = queue();
  std::lock_guard const guard(q.mutex);
  detail::any_reports.store(false, std::memory_order_relaxed);
  std::vector<Report> taken(std::make_move_iterator(q.reports.begin()), std::make_move_iterator(q.reports.end()));
  q.reports.clear();
  return taken;
}

}  // namespace memarray
