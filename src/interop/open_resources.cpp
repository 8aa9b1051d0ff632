#include "open_resources.hpp"

#include <memarray/detail/base/fork_lock.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace memarray {
namespace {

std::atomic<bool> tracing{false};

struct Traced;
using Traces = std::list<Traced>;
struct Traced {
  MemArrayResource inner;
  std::string words;
  Traces::iterator self;
  unsigned list;  // `list_number` when it was added
};

detail::ForkLock lock;
unsigned list_number = 0;  // counts abandoned lists
// Never destroyed: resources may be closed during static destruction.
Traces& traces() noexcept {
  static Traces& all = *new Traces;
  return all;
}

// A child forked during a change starts with an empty list.
detail::ForkLockGuard guard() noexcept {
  return {lock, [] {
            detail::abandon(traces());
            ++list_number;
          }};
}

void close_traced(void* data) noexcept {
  auto* const traced = static_cast<Traced*>(data);
  MemArrayResource const inner = traced->inner;
  Traces closed;
  {
    auto const locked = guard();
    // Nodes of an abandoned list may be half changed.
    if (traced->list == list_number) closed.splice(closed.end(), traces(), traced->self);
  }
  inner.close_func(inner.data);
}

void report_open() noexcept {
  auto const locked = guard();
  std::size_t const count = traces().size();
  if (count == 0) return;
  std::fprintf(stderr, "memarray: %zu resource%s never closed:\n", count, count == 1 ? " was" : "s were");
  for (Traced const& traced : traces()) std::fprintf(stderr, "  %s\n", traced.words.c_str());
}

}  // namespace

void trace_resources(bool on) noexcept {
  tracing.store(on, std::memory_order_relaxed);
  if (!on) return;
  static_cast<void>(traces());
  static std::once_flag registered;
  std::call_once(registered, [] { static_cast<void>(std::atexit(report_open)); });
}

bool traces_resources() noexcept { return tracing.load(std::memory_order_relaxed); }

std::vector<std::string> open_resources() {
  std::vector<std::string> words;
  auto const locked = guard();
  for (Traced const& traced : traces()) words.push_back(traced.words);
  return words;
}

namespace detail {

void trace_opened(MemArrayResource& resource, std::string words) noexcept {
  try {
    Traces made;
    made.push_back({resource, std::move(words), {}, 0});
    made.front().self = made.begin();
    resource = {close_traced, &made.front()};
    auto const locked = guard();
    made.front().list = list_number;
    traces().splice(traces().end(), made);
  } catch (std::bad_alloc const&) {
    return;  // the resource stays untraced
  }
}

}  // namespace detail
}  // namespace memarray
