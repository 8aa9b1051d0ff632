// Loops without a given number of threads: their measurement and sharing.

#include <memarray/kernel/for_each_index.hpp>
#include <memarray/kernel/launch.hpp>
#include <memarray/kernel/reduce.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernel/launch_test.hpp"

namespace memarray::test {
namespace {

using namespace std::chrono_literals;

struct Seen {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> copies{0};
};

/// Counts the copies of a kernel: one for each piece of a launch, and a few for the launch.
class CountedCopies {
 public:
  explicit CountedCopies(Seen& seen) : _seen(&seen) {}
  CountedCopies(CountedCopies const& other) : _seen(other._seen) { ++_seen->copies; }
  CountedCopies& operator=(CountedCopies const&) = delete;

 private:
  Seen* _seen;
};

/// Returns kernels of one type that are heavy from index `begin` on.
auto heavy_from(std::int64_t begin, Seen& seen, std::chrono::microseconds duration = 200us) {
  return [&seen, begin, duration, counted = CountedCopies(seen)](std::int64_t i, auto const&) {
    if (i < begin) return;
    std::this_thread::sleep_for(duration);
    std::lock_guard const guard(seen.mutex);
    seen.threads.insert(std::this_thread::get_id());
  };
}

/// Works for some 4 instructions per turn, without reading the time: that may itself take microseconds.
void work(std::int64_t turns) {
  for (std::int64_t volatile turn = 0; turn < turns;) turn = turn + 1;
}

/// Returns the turns of `work` that take about `duration`.
std::int64_t turns_of(std::chrono::nanoseconds duration) {
  constexpr std::int64_t turns = 200'000;
  auto least = std::chrono::steady_clock::duration::max();
  // An interrupted measurement looks long.
  for (int round = 0; round < 10; ++round) {
    auto const start = std::chrono::steady_clock::now();
    work(turns);
    least = std::min(least, std::chrono::steady_clock::now() - start);
  }
  return std::max<std::int64_t>(1, turns * duration / least);
}

/// Expects several threads in half of the rounds or more. A cheap part that is interrupted looks long, so the rest is
/// shared by chance in a few rounds.
template <class Run>
void expect_shared(Run const& run) {
  constexpr int rounds = 16;
  int shared = 0;
  for (int round = 0; round < rounds; ++round) {
    Seen seen;
    run(seen);
    shared += seen.threads.size() > 1 ? 1 : 0;
  }
  EXPECT_GE(shared, rounds / 2);
}

TEST_F(LaunchTest, ACheapBeginningDoesNotDecideForTheRest) {
  MemArray<std::uint8_t, 1> array({64});
  for (std::int64_t const begin : {8, 16, 32}) {
    SCOPED_TRACE(std::to_string(begin) + " of 64 indices are cheap");
    expect_shared([&](Seen& seen) { for_each_index({64}, default_stream(), heavy_from(begin, seen), read(array)); });
  }
}

TEST_F(LaunchTest, ACheapIndexOfFourDoesNotDecideForTheRest) {
  MemArray<std::uint8_t, 1> array({4});
  // Only two indices are left to share: on a busy machine a second thread may need milliseconds to begin.
  expect_shared([&](Seen& seen) { for_each_index({4}, default_stream(), heavy_from(1, seen, 5ms), read(array)); });
}

TEST_F(LaunchTest, ReductionsOfFewCostlyIndicesAreShared) {
  MemArray<std::uint8_t, 1> array({64});
  for (std::int64_t const size : {16, 64}) {
    SCOPED_TRACE(std::to_string(size) + " indices");
    for (launch const& on : {launch{}, launch{.threads = 2}, launch{.threads = 2, .grain = 1}})
      expect_shared([&](Seen& seen) {
        auto const kernel = [run = heavy_from(0, seen, 1ms)](std::int64_t i, auto const& x) {
          run(i, x);
          return i;
        };
        EXPECT_EQ(transform_reduce({size}, on, std::int64_t{0}, plus{}, kernel, read(array)), size * (size - 1) / 2);
      });
  }
}

TEST_F(LaunchTest, ACheapLaunchDoesNotDecideForTheNext) {
  MemArray<std::uint8_t, 1> array({16});  // cheap in less than 2 µs, also without optimisation
  expect_shared([&](Seen& seen) {
    for (std::int64_t const begin : {16, 0})
      for_each_index({16}, default_stream(), heavy_from(begin, seen), read(array));
  });
}

TEST_F(LaunchTest, LaunchesOfFewIndicesDoNotDecideForMore) {
  MemArray<std::uint8_t, 1> array({64});
  expect_shared([&](Seen& seen) {
    for (int repeat = 0; repeat < 41; ++repeat)
      for_each_index({3}, default_stream(), heavy_from(64, seen), read(array));
    for_each_index({64}, default_stream(), heavy_from(0, seen), read(array));
  });
}

TEST_F(LaunchTest, RepeatedTinyLaunchesRunInOnePiece) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "no loop is short in this build";
#endif
  MemArray<std::uint8_t, 1> array({8});
  Seen seen;
  auto const copies_of_launch = [&](launch const& on) {
    int const before = seen.copies;
    for_each_index({8}, on, heavy_from(64, seen), read(array));
    return seen.copies - before;
  };
  int const of_one_piece = copies_of_launch({.threads = 1});
  int most = 0;
  // An interruption begins the measurements anew.
  for (int round = 0; round < 50 && most < 150; ++round) {
    int in_one_piece = 0;
    for (int repeat = 0; repeat < 160; ++repeat) in_one_piece += copies_of_launch({}) == of_one_piece ? 1 : 0;
    most = std::max(most, in_one_piece);
  }
  EXPECT_GE(most, 150) << "reading the time takes as long as a tiny launch";
}

TEST_F(LaunchTest, FewIndicesOfLargeArraysStayOnTheCallersThread) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "no loop is short in this build";
#endif
  MemArray<double, 1> const one({std::int64_t{1} << 23});
  MemArray<double, 1> const other({std::int64_t{1} << 23});
  std::vector<std::thread::id> const callers(16, std::this_thread::get_id());
  Seen seen;
  int least = 16;
  for (int round = 0; round < 50 && least > 6; ++round) {
    std::this_thread::sleep_for(2ms);  // threads sleep, so only an interrupted launch looks worth sharing
    std::vector<std::thread::id> found(16);
    int const before = seen.copies;
    auto* const ids = found.data();
    auto const kernel = [ids, counted = CountedCopies(seen)](std::int64_t i, auto const&, auto const&) {
      ids[i] = std::this_thread::get_id();
    };
    for_each_index({16}, launch{.threads = 1}, kernel, read(one), read(other));
    int const of_one_piece = seen.copies - before;
    for_each_index({16}, default_stream(), kernel, read(one), read(other));
    // Shared indices would run in 16 pieces; these run in five.
    if (found == callers) least = std::min(least, seen.copies - before - 2 * of_one_piece + 1);
  }
  EXPECT_LE(least, 6);
}

TEST_F(LaunchTest, ShortLoopsDoNotWakeSleepingThreads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
  GTEST_SKIP() << "no loop is short in this build";
#endif
  MemArray<std::int64_t, 1> array({2000});
  bool stayed = false;
  // A loop that is interrupted looks long.
  for (int round = 0; round < 50 && !stayed; ++round) {
    std::this_thread::sleep_for(2ms);
    std::atomic<bool> strayed{false};
    auto const caller = std::this_thread::get_id();
    for_each_index(array, default_stream(), [&, caller](std::int64_t& element, std::int64_t i) {
      element += i;
      if (i % 500 == 0 && std::this_thread::get_id() != caller) strayed = true;
    });
    stayed = !strayed;
  }
  EXPECT_TRUE(stayed);
}

TEST_F(LaunchTest, AShortLoopAloneWakesNoThreads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "no loop is short in this build";
#endif
  MemArray<std::uint8_t, 1> array({40});
  Seen seen;
  // Some 10 µs: enough to share after another loop, too short to wake a thread.
  auto const kernel = [turns = turns_of(250ns), counted = CountedCopies(seen)](std::int64_t, auto const&) {
    work(turns);
  };
  auto const copies_of_launch = [&](launch const& on) {
    int const before = seen.copies;
    for_each_index({40}, on, kernel, read(array));
    return seen.copies - before;
  };
  int const of_one_piece = copies_of_launch({.threads = 1});
  int least = 40;
  // An interrupted loop looks long.
  for (int round = 0; round < 50 && least > 6; ++round) {
    std::this_thread::sleep_for(2ms);
    // A shared loop would run in 16 pieces; this runs in five.
    least = std::min(least, copies_of_launch({}) - of_one_piece + 1);
  }
  EXPECT_LE(least, 6);
}

TEST_F(LaunchTest, RepeatedShortLoopsAreShared) {
  // Some 20 µs each: too short to wake a thread for one of them.
  MemArray<double, 1> array({1 << 15});
  auto const caller = std::this_thread::get_id();
  auto const end = std::chrono::steady_clock::now() + 20s;
  std::atomic<bool> shared{false};
  while (!shared && std::chrono::steady_clock::now() < end)
    for (int repeat = 0; repeat < 100; ++repeat)
      for_each_index(array, default_stream(), [&, caller](double& element, std::int64_t i) {
        element += 1;
        if (i % 1024 == 0 && std::this_thread::get_id() != caller) shared = true;
      });
  EXPECT_TRUE(shared);
}

}  // namespace
}  // namespace memarray::test
