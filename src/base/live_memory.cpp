#include <memarray/base/live_memory.hpp>
#include <memarray/detail/base/add_wrapping.hpp>

#include <atomic>
#include <new>

namespace memarray {
namespace {

// One thread's counters: it alone writes, without atomic additions. A later thread continues them. Never freed.
struct alignas(64) Part {
  std::atomic<std::int64_t> blocks{0};
  std::atomic<std::int64_t> bytes{0};
  std::atomic<bool> taken{true};
  Part* next = nullptr;
};

constinit std::atomic<Part*> parts{nullptr};
// For threads in their last destructors, or without memory for a `Part`.
constinit Part shared;

struct Mine {
  Part* part = nullptr;
  bool over = false;  // only destructors are left to run
};
constinit thread_local Mine mine;

struct GiveBack {
  ~GiveBack() {
    if (mine.part) mine.part->taken.store(false, std::memory_order_release);
    mine = {nullptr, true};
  }
};

Part* unused_part() noexcept {
  for (Part* part = parts.load(std::memory_order_acquire); part; part = part->next)
    if (!part->taken.load(std::memory_order_relaxed) && !part->taken.exchange(true, std::memory_order_acquire))
      return part;
  auto* const fresh = new (std::nothrow) Part;
  if (!fresh) return nullptr;
  fresh->next = parts.load(std::memory_order_relaxed);
  while (!parts.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return fresh;
}

[[gnu::noinline]] Part* find_part() noexcept {
  if (mine.over) return nullptr;
  thread_local GiveBack const give_back;
  static_cast<void>(give_back);
  return mine.part = unused_part();
}

void add(std::atomic<std::int64_t>& own, std::int64_t more) noexcept {
  // Imported memory may claim any size: sums wrap, and wrap back at release.
  own.store(detail::add_wrapping(own.load(std::memory_order_relaxed), more), std::memory_order_relaxed);
}

void add_to(LiveMemory& sum, Part const& part) noexcept {
  sum.blocks = detail::add_wrapping(sum.blocks, part.blocks.load(std::memory_order_relaxed));
  sum.bytes = detail::add_wrapping(sum.bytes, part.bytes.load(std::memory_order_relaxed));
}

}  // namespace

void detail::count_live(std::int64_t blocks, std::int64_t bytes) noexcept {
  Part* const part = mine.part ? mine.part : find_part();
  if (!part) [[unlikely]] {
    shared.blocks.fetch_add(blocks, std::memory_order_relaxed);
    shared.bytes.fetch_add(bytes, std::memory_order_relaxed);
    return;
  }
  add(part->blocks, blocks);
  add(part->bytes, bytes);
}

LiveMemory live_memory() noexcept {
  LiveMemory sum{0, 0};
  add_to(sum, shared);
  for (Part const* part = parts.load(std::memory_order_acquire); part; part = part->next) add_to(sum, *part);
  return sum;
}

}  // namespace memarray
