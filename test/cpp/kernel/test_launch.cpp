#include <memarray/base/threads.hpp>
#include <memarray/kernel/hold.hpp>
#include <memarray/kernel/launch.hpp>
#include <memarray/kernel/reduce.hpp>
#include <memarray/kernel/sort_by_key.hpp>

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "kernel/launch_test.hpp"

namespace memarray::test {
namespace {

using namespace std::chrono_literals;

TEST_F(LaunchTest, OneThreadIsTheCallers) {
  auto const found = threads_of(1000, {.threads = 1}, 10us);
  EXPECT_EQ(std::set(found.begin(), found.end()), std::set{std::this_thread::get_id()});
}

TEST_F(LaunchTest, PiecesDoNotGrowWithANumberOfThreadsThatThereCannotBe) {
  struct CountsCopies {
    std::atomic<int>* copies;
    explicit CountsCopies(std::atomic<int>& counter) : copies(&counter) {}
    CountsCopies(CountsCopies const& other) : copies(other.copies) { ++*copies; }
    void operator()(std::int64_t, double& x) const { x += 1; }
  };
  MemArray<double, 1> array({1 << 20});
  auto const copies_of_launch = [&](int threads) {
    std::atomic<int> copies = 0;
    // Within another loop, so that the threads are not started.
    parallel_for(2, [&](std::int64_t chunk) {
      if (chunk == 0) for_each_index({1 << 20}, launch{.threads = threads}, CountsCopies(copies), update(array));
    });
    return copies.load();
  };
  EXPECT_LE(copies_of_launch(std::numeric_limits<int>::max()), 2 * copies_of_launch(1024));
  options().threads = std::numeric_limits<int>::max();
  EXPECT_LE(copies_of_launch(0), 2 * copies_of_launch(1024));
  options().threads = 0;
  EXPECT_EQ(array({0}), 4);
}

TEST_F(LaunchTest, NoMoreThreadsThanGivenTakePart) {
  for (int round = 0; round < 20; ++round) {
    static_cast<void>(threads_of(64, {.threads = 4}, 100us));  // so that there are more
    auto const found = threads_of(64, {.threads = 2}, 100us);
    EXPECT_LE(std::set(found.begin(), found.end()).size(), 2U);
  }
}

TEST_F(LaunchTest, GivenThreadsShareFewIndices) {
  auto const end = std::chrono::steady_clock::now() + 20s;
  std::size_t most = 0;
  while (most < 3 && std::chrono::steady_clock::now() < end) {
    auto const found = threads_of(3, {.threads = 3}, 1000us);
    most = std::max(most, std::set(found.begin(), found.end()).size());
  }
  EXPECT_EQ(most, 3U);
}

TEST_F(LaunchTest, AThreadTakesAtLeastAGrain) {
  for (int round = 0; round < 10; ++round) {
    // The first quarter is slow, so that other threads take the rest of it.
    auto const found = threads_of(1000, {.threads = 4, .grain = 100}, 50us, 250);
    std::size_t run = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ++run;
      if (i + 1 < found.size() && found[i + 1] == found[i]) continue;
      EXPECT_GE(run, 100U);
      run = 0;
    }
  }
  auto const whole = threads_of(1000, {.threads = 4, .grain = 1000}, 1us);
  EXPECT_EQ(std::set(whole.begin(), whole.end()).size(), 1U);
}

TEST_F(LaunchTest, TheLargestGrainKeepsAReductionOnOneThread) {
  MemArray<double, 1> array({1 << 15});
  array.fill(1);
  std::atomic<bool> strayed{false};
  constexpr auto whole = std::numeric_limits<std::int64_t>::max();
  auto const noted = [&strayed, caller = std::this_thread::get_id()](std::int64_t i, auto const& x) {
    if (std::this_thread::get_id() != caller) strayed = true;
    return x[i];
  };
  EXPECT_EQ(transform_reduce({1 << 15}, launch{.threads = 4, .grain = whole}, 0.0, plus{}, noted, read(array)),
            1 << 15);
  EXPECT_FALSE(strayed);
}

TEST_F(LaunchTest, NegativeSettingsAreRefused) {
  MemArray<float, 1> array({4});
  auto const never = [](float&, std::int64_t) { FAIL(); };
  EXPECT_THROW(for_each_index(array, launch{.threads = -1}, never), ValueError);
  EXPECT_THROW(for_each_index(array, launch{.grain = -1}, never), ValueError);
  EXPECT_THROW(for_each_index(array, launch{.stream = {}}, never), ValueError);
}

TEST_F(LaunchTest, NegativeSettingsOfHoldsAndSortsAreRefused) {
  MemArray<int, 1> keys({4});
  MemArray<int, 1> values({4});
  EXPECT_THROW(hold(launch{.threads = -1}, update(keys)), ValueError);
  EXPECT_THROW(sort_by_key(keys, values, launch{.grain = -1}), ValueError);
  sort_by_key(keys, values, launch{.threads = 3});
  EXPECT_EQ(keys.state().lock().word().load(), detail::LockWord::free);
}

TEST_F(LaunchTest, NegativeExtentsAreRefused) {
  MemArray<float, 2> array({4, 4});
  auto const never = [](auto const&, auto&&...) { FAIL(); };
  auto const nothing = [](auto const&, auto const&) { return 1.0; };
  StreamHandle const stream = default_stream();
  for (std::int64_t const extent : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    // Their products are positive for two negative extents.
    for (auto const& shape : {std::array{extent, std::int64_t{4}}, std::array{std::int64_t{-1}, extent}}) {
      EXPECT_THROW(for_each_index(shape, stream, never, write(array)), ValueError) << extent;
      EXPECT_THROW(for_each_index(shape, stream, never, read(array)), ValueError) << extent;
      EXPECT_THROW(hold(stream, read(array)).for_each_index(shape, never), ValueError) << extent;
      EXPECT_THROW(static_cast<void>(transform_reduce(shape, stream, 0.0, plus{}, nothing, read(array))), ValueError);
    }
  }
  EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
}

/// Returns the CPU time of other threads during `work`, in units of this one's.
template <class Work>
double share_of_others(Work const& work) {
  auto const seconds = [](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  double const all = seconds(CLOCK_PROCESS_CPUTIME_ID);
  double const own = seconds(CLOCK_THREAD_CPUTIME_ID);
  work();
  double const by_this = seconds(CLOCK_THREAD_CPUTIME_ID) - own;
  return (seconds(CLOCK_PROCESS_CPUTIME_ID) - all - by_this) / by_this;
}

TEST_F(LaunchTest, SortsTakeTheGivenThreads) {
  MemArray<std::uint64_t, 1> keys({1 << 20});
  MemArray<std::int64_t, 1> values({1 << 20});
  auto const share = [&](int threads) {
    std::uint64_t state = 1;
    for_each_index(keys, launch{.threads = 1}, [&](std::uint64_t& key, std::int64_t) {
      key = state = state * 6364136223846793005U + 1442695040888963407U;
    });
    return share_of_others([&] { sort_by_key(keys, values, launch{.threads = threads}); });
  };
  EXPECT_LT(share(1), 0.1) << "of 4 threads that the options allow";
  options().threads = 1;
  auto const end = std::chrono::steady_clock::now() + 20s;
  double most = 0;
  while (most < 0.3 && std::chrono::steady_clock::now() < end) most = std::max(most, share(2));
  EXPECT_GE(most, 0.3);
}

TEST_F(LaunchTest, HeldLaunchesTakeTheGivenThreads) {
  MemArray<std::int32_t, 1> array({64});
  std::mutex mutex;
  auto const threads_of_hold = [&](int threads) {
    std::set<std::thread::id> seen;
    auto held = hold(launch{.threads = threads}, update(array));
    held.for_each_index({64}, [&](std::int64_t, std::int32_t&) {
      std::this_thread::sleep_for(200us);
      std::lock_guard const lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    return seen.size();
  };
  EXPECT_EQ(threads_of_hold(1), 1U);
  auto const end = std::chrono::steady_clock::now() + 20s;
  std::size_t most = 0;
  while (most < 2 && std::chrono::steady_clock::now() < end) {
    std::size_t const found = threads_of_hold(2);
    EXPECT_LE(found, 2U);
    most = std::max(most, found);
  }
  EXPECT_EQ(most, 2U);
}

std::chrono::nanoseconds cpu_time_of(pthread_t thread) {
  clockid_t clock{};
  timespec used{};
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &used) != 0)
    throw Error("the CPU time of a thread is unknown");
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// A thread waits actively for 100 µs of time. It has no more CPU time than that, however busy the machine is.
TEST_F(LaunchTest, ThreadsSleepSoonAfterALoop) {
  struct Call {
    pthread_t thread;
    std::chrono::nanoseconds used;
  };
  MemArray<std::uint8_t, 1> const array({32});
  auto const end = std::chrono::steady_clock::now() + 20s;
  int waits = 0;
  std::chrono::nanoseconds used{};
  while (waits < 20 && std::chrono::steady_clock::now() < end) {
    std::array<Call, 32> calls{};
    // More threads than CPUs would not wait actively at all.
    for_each_index(
        {32}, launch{.threads = 2},
        [&](std::int64_t i, auto) {
          std::this_thread::sleep_for(100us);
          calls[static_cast<std::size_t>(i)] = {pthread_self(), cpu_time_of(pthread_self())};
        },
        read(array));
    auto const of_caller = [](Call const& call) { return pthread_equal(call.thread, pthread_self()) != 0; };
    auto const workers_end = std::remove_if(calls.begin(), calls.end(), of_caller);
    if (workers_end == calls.begin()) continue;  // the second thread came too late
    auto const last = std::max_element(calls.begin(), workers_end, [](auto& a, auto& b) { return a.used < b.used; });
    std::this_thread::sleep_for(30ms);
    used += cpu_time_of(last->thread) - last->used;
    ++waits;
  }
  ASSERT_GT(waits, 0);
  EXPECT_LT(used / waits, 400us);
}

TEST_F(LaunchTest, LoopsOverOneArrayGiveAPartToTheSameThread) {
  // The second half belongs to the second thread, unless that thread comes so late that its part is taken.
  auto const end = std::chrono::steady_clock::now() + 20s;
  int same = 0;
  while (same < 3 && std::chrono::steady_clock::now() < end) {
    auto const first = threads_of(8, {.threads = 2}, 2000us);
    auto const second = threads_of(8, {.threads = 2}, 2000us);
    EXPECT_EQ(first[0], std::this_thread::get_id());
    EXPECT_EQ(second[0], std::this_thread::get_id());
    same += first[4] != first[0] && first[4] == second[4] ? 1 : 0;
  }
  EXPECT_EQ(same, 3);
}

TEST_F(LaunchTest, NewMemoryIsFirstWrittenByTheThreadsOfLaterLoops) {
  // Bytes enough to be shared without a measurement.
  constexpr std::int64_t size = 1 << 18;
  static thread_local char own = 0;
  // Sleeps 32 times on the way, so that both threads come in time also where other processes use the CPUs.
  auto const mine = [](std::int64_t i) {
    if (i % (size / 32) == 0) std::this_thread::sleep_for(200us);
    return reinterpret_cast<std::uintptr_t>(&own);
  };
  auto const end = std::chrono::steady_clock::now() + 20s;
  bool same = false;
  while (!same && std::chrono::steady_clock::now() < end) {
    MemArray<std::uintptr_t, 1> writer({size});
    launch const on{.threads = 2};
    for_each_index({size}, on, [mine](std::int64_t i, auto x) { x[i] = mine(i); }, overwrite(writer));
    auto const again = [mine](std::int64_t i, auto const& x) { return x[i] == mine(i) ? 1 : 0; };
    auto const halves = [caller = mine(1)](std::int64_t i, auto const& x) {
      return (x[i] == caller) == (i < size / 2) ? 1 : 0;
    };
    same = transform_reduce({size}, on, 0, plus{}, again, read(writer)) > size / 10 * 9 &&
           transform_reduce({size}, on, 0, plus{}, halves, read(writer)) > size / 10 * 9;
  }
  EXPECT_TRUE(same);
}

}  // namespace
}  // namespace memarray::test
