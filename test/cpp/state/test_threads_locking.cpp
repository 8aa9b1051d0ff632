// Many threads on one array: every granted access is whole, every conflicting access is refused, and both occur.

#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

using namespace std::chrono_literals;
using Array = MemArray<std::uint64_t, 1>;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t length = 8192 + 1024;  // 72 KiB
constexpr std::int64_t wanted = 1000;

// Sanitizers slow memory accesses down; the longer limit proves as much.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto at_most = 300s;
#else
constexpr auto at_most = 120s;
#endif

struct Tally {
  std::atomic<std::int64_t> granted{0};
  std::atomic<std::int64_t> refused{0};
  [[nodiscard]] bool complete() const { return granted >= wanted && refused >= wanted; }
};

enum Kind {
  read_lease,
  write_lease,
  discarding_lease,
  read_by_leases,
  write_by_leases,
  entered,
  read_kernel,
  write_kernel,
  update_kernel,
  overwrite_kernel,
  fill,
  element,
  kinds
};
constexpr char const* names[] = {
    "read leases", "write leases",      "discarding leases",  "leases(read)",        "leases(write)",
    "enter",       "kernels that read", "kernels that write", "kernels that update", "kernels that overwrite",
    "fill",        "elements"};

/// Sets each element, with a pause half-way.
struct SetWithPause {
  std::uint64_t value;
  template <class Indices>
  void operator()(Indices const& at, std::uint64_t& element) const {
    if (at[0] == length / 2) ::sched_yield();
    element = value;
  }
  template <class Indices>
  void operator()(Indices const& at, ArrayIndexer<std::uint64_t, 1> const& elements) const {
    if (at[0] == length / 2) ::sched_yield();
    elements[at] = value;
  }
};

class ThreadsLockingTest : public ArrayTest {
 protected:
  ThreadsLockingTest() { array.fill(1); }

  /// Expects equal elements throughout the array.
  void check(std::uint64_t const* elements) {
    std::uint64_t const first = elements[0];
    for (std::int64_t i = 1; i < length; ++i)
      if (elements[i] != first) {
        torn.store(true);
        return;
      }
  }
  /// Pauses only rarely between the checks: otherwise some thread would always read, and no writer would be granted.
  void check_twice(std::uint64_t const* elements, std::uint64_t round) {
    check(elements);
    if (round % 16 == 0) ::sched_yield();
    check(elements);
  }
  static void fill_in_halves(std::uint64_t* elements, std::uint64_t value) {
    std::fill(elements, elements + length / 2, value);
    ::sched_yield();
    std::fill(elements + length / 2, elements + length, value);
  }

  void use(Kind kind, std::int64_t id, std::uint64_t value) {
    switch (kind) {
      case read_lease: {
        ReadLease const lease(array);
        return check_twice(lease.ptr(), value);
      }
      case write_lease: {
        WriteLease const lease(array);
        check(lease.ptr());
        return fill_in_halves(lease.ptr(), value);
      }
      case discarding_lease: {
        WriteLease const lease(array, {.discard = true});
        return fill_in_halves(lease.ptr(), value);
      }
      case read_by_leases: {
        Array other({1});
        auto const [lease, own] = leases(read(array), write(other));
        return check_twice(lease.ptr(), value);
      }
      case write_by_leases: {
        Array other({1});
        auto const [own, lease] = leases(read(other), write(array));
        check(lease.ptr());
        return fill_in_halves(lease.ptr(), value);
      }
      case entered: {
        array.enter(id);
        fill_in_halves(array.ptr(id), value);
        return array.exit();
      }
      case read_kernel:
        return for_each_index(
            {1}, default_stream(), [&](auto const&, auto elements) { check_twice(elements.pointer, value); },
            read(array));
      case write_kernel:
        return for_each_index(
            {1}, default_stream(),
            [&](auto const&, auto elements) {
              check(elements.pointer);
              fill_in_halves(elements.pointer, value);
            },
            write(array));
      case update_kernel: return for_each_index({length}, default_stream(), SetWithPause{value}, update(array));
      case overwrite_kernel: return for_each_index({length}, default_stream(), SetWithPause{value}, overwrite(array));
      case fill: return array.fill(value);
      // The check before each element access. The element itself is reserved for holders of a lease.
      case element: return array.throw_invalid_lock_access(-1);
      case kinds: break;
    }
  }

  Array array{{length}};
  std::atomic<bool> torn{false};
};

TEST_F(ThreadsLockingTest, GrantedAccessIsAtomicAndConflictsAreRefusedForEachKind) {
  std::array<Tally, kinds> tallies;
  auto const complete = [&] {
    return std::all_of(tallies.begin(), tallies.end(), [](Tally const& tally) { return tally.complete(); });
  };
  auto const end = Clock::now() + at_most;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (std::uint64_t value = static_cast<std::uint64_t>(t) << 32; !torn && !complete() && Clock::now() < end;
           ++value) {
        auto const kind = static_cast<Kind>(random() % kinds);
        try {
          use(kind, t, value);
          ++tallies[kind].granted;
        } catch (LockError const&) {
          ++tallies[kind].refused;
        }
        // So that thread switches mostly happen while no lock is held.
        ::sched_yield();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(torn);
  for (int kind = 0; kind < kinds; ++kind) {
    auto const& tally = tallies[static_cast<std::size_t>(kind)];
    EXPECT_GE(tally.granted, wanted) << names[kind];
    EXPECT_GE(tally.refused, wanted) << names[kind];
  }
  EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
}

TEST_F(ThreadsLockingTest, WaitersAreAllServed) {
  std::atomic<std::int64_t> writes{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300 && !torn; ++i) {
        if (t % 2 == 0) {
          WriteLease const lease(array, {.timeout = std::nullopt});
          fill_in_halves(lease.ptr(), static_cast<std::uint64_t>(t * 1000 + i));
          ++writes;
        } else {
          ReadLease const lease(array, {.timeout = std::nullopt});
          check(lease.ptr());
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(torn);
  EXPECT_EQ(writes, 1200);
}

// Snapshots kept while other threads write: their contents never change.
TEST_F(ThreadsLockingTest, EscapedViewsDoNotChangeUnderConcurrentWrites) {
  std::atomic<bool> changed{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<std::pair<View<std::uint64_t>, std::uint64_t>> kept;
      for (int i = 0; i < 400; ++i) {
        try {
          if (t < 2) {
            View<std::uint64_t> view = escaped_read_only(array);
            std::uint64_t const shows = view.data()[0];
            kept.emplace_back(std::move(view), shows);
            if (kept.size() > 4) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random() % kept.size()));
          } else if (i % 3 == 0) {
            array.fill(random());
          } else {
            WriteLease const lease(array, {.discard = i % 3 == 1});
            fill_in_halves(lease.ptr(), random());
          }
        } catch (LockError const&) {
          ::sched_yield();
        }
        for (auto const& [view, shows] : kept)
          for (std::int64_t const at : {std::int64_t{0}, length / 2, length - 1})
            if (view.data()[at] != shows) changed = true;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(changed);
  EXPECT_FALSE(torn);
}

// Readers that must first detach a writable view do so one at a time, and none is refused.
TEST_F(ThreadsLockingTest, ConcurrentReadersDetachWritableViewWithoutRefusal) {
  for (int round = 0; round < 200; ++round) {
    View<std::uint64_t> const view = escaped_writable(array);
    std::atomic<int> go{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        ++go;
        while (go < 4) std::this_thread::yield();
        try {
          ReadLease const lease(array);
          if (lease.ptr() == view.data()) torn = true;
        } catch (LockError const&) {
          ++refused;
        }
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(refused, 0) << "round " << round;
  }
  EXPECT_EQ(copies(), 200) << "one copy for each escaped view";
  EXPECT_FALSE(torn);
}

TEST_F(ThreadsLockingTest, ContinuousReadersDoNotStarveWriter) {
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> reads{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t)
    readers.emplace_back([&] {
      while (!stop) {
        ReadLease const lease(array, {.timeout = std::nullopt});
        check(lease.ptr());
        ++reads;
      }
    });
  while (reads < 100) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    WriteLease const lease(array, {.timeout = 60s});
    fill_in_halves(lease.ptr(), static_cast<std::uint64_t>(i));
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(torn);
}

TEST_F(ThreadsLockingTest, ExchangeIsAtomicUnderConcurrentReads) {
  Array other({length / 2});
  other.fill(7);
  std::atomic<std::int64_t> exchanged{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        try {
          if (t == 0) {
            array.exchange(other);
            ++exchanged;
          } else if (t == 1) {
            other.exchange(array);
            ++exchanged;
          } else {
            auto const [x, y] = leases(read(array), read(other));
            if (x.indexer().size() + y.indexer().size() != length + length / 2) torn = true;
            std::uint64_t const sizes_match = x.indexer().size() == length ? 1 : 7;
            if (x.ptr()[0] != sizes_match) torn = true;
          }
        } catch (LockError const&) {
          ::sched_yield();
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(exchanged, 0);
  EXPECT_FALSE(torn);
}

}  // namespace
}  // namespace memarray::test
