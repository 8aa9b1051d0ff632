#include <memarray/base/threads.hpp>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include <memarray/base/options.hpp>

#include "base/loop_pool.hpp"
#include "base/one_processor.hpp"

namespace memarray {
namespace {

class Threads : public ::testing::Test {
 protected:
  void SetUp() override { options().threads = 4; }
  void TearDown() override { options().threads = 0; }
};

TEST_F(Threads, EveryChunkRunsOnce) {
  for (std::int64_t const chunks : {0, 1, 2, 3, 17, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(chunks));
    parallel_for(chunks, [&](std::int64_t chunk) { ++runs[static_cast<std::size_t>(chunk)]; });
    for (auto const& count : runs) {
      ASSERT_EQ(count, 1);
    }
  }
}

TEST_F(Threads, WritesOfChunksAreVisibleAfterwards) {
  std::vector<std::int64_t> plain(64);
  for (std::int64_t round = 0; round < 5000; ++round) {
    parallel_for(64, [&](std::int64_t chunk) { plain[static_cast<std::size_t>(chunk)] += chunk; });
  }
  for (std::size_t i = 0; i < plain.size(); ++i) {
    ASSERT_EQ(plain[i], static_cast<std::int64_t>(i) * 5000);
  }
}

TEST_F(Threads, CallerAndWorkersRunChunks) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (seen.size() < 4 && std::chrono::steady_clock::now() < deadline) {
    parallel_for(64, [&](std::int64_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      std::lock_guard const guard(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  EXPECT_EQ(seen.size(), 4U);
  EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
}

TEST_F(Threads, UsesNoMoreThreadsThanRequested) {
  for (int const width : {1, 3, 2, 4, 1}) {
    options().threads = width;
    EXPECT_EQ(threads(), width);
    std::mutex mutex;
    std::set<std::thread::id> seen;
    for (int round = 0; round < 50; ++round) {
      parallel_for(32, [&](std::int64_t) {
        std::this_thread::yield();
        std::lock_guard const guard(mutex);
        seen.insert(std::this_thread::get_id());
      });
    }
    EXPECT_LE(seen.size(), static_cast<std::size_t>(width));
  }
}

TEST_F(Threads, DefaultDoesNotExceedCpuCount) {
  options().threads = 0;
  EXPECT_GE(threads(), 1);
  EXPECT_LE(threads(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST_F(Threads, FirstExceptionReachesTheCallerAndTheRestIsSkipped) {
  std::atomic<int> runs{0};
  EXPECT_THROW(parallel_for(100000,
                            [&](std::int64_t chunk) {
                              ++runs;
                              if (chunk % 10 == 3) {
                                throw std::runtime_error("chunk");
                              }
                            }),
               std::runtime_error);
  EXPECT_LT(runs, 100000);
  parallel_for(10, [&](std::int64_t) { runs = -1; });
  EXPECT_EQ(runs, -1);
}

TEST_F(Threads, NestedCallsRunOnCallingThread) {
  std::atomic<int> runs{0};
  std::atomic<int> strayed{0};
  parallel_for(8, [&](std::int64_t) {
    auto const self = std::this_thread::get_id();
    parallel_for(8, [&](std::int64_t) {
      strayed += std::this_thread::get_id() != self;
      ++runs;
    });
  });
  EXPECT_EQ(runs, 64);
  EXPECT_EQ(strayed, 0);
}

TEST_F(Threads, ConcurrentCallersAllFinish) {
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> sum{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        std::int64_t mine[16] = {};
        parallel_for(16, [&](std::int64_t chunk) { mine[chunk] = chunk; });
        for (std::int64_t const value : mine) {
          sum += value;
        }
      }
    });
  }
  for (auto& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(sum, 4 * 500 * 120);
}

TEST_F(Threads, ChunkCountFollowsSizeAndThreads) {
  EXPECT_EQ(parallel_chunks(0), 1);
  EXPECT_EQ(parallel_chunks((1 << 20) - 1), 1);
  EXPECT_GE(parallel_chunks(1 << 20), 4);
  EXPECT_EQ(parallel_chunks(std::size_t{1} << 30), 32);
  options().threads = 1;
  EXPECT_EQ(parallel_chunks(std::size_t{1} << 30), 1);
}

#if !defined(__SANITIZE_THREAD__)  // TSan's own work at the end of a loop takes as long
/// Returns how many of 100 loops of two threads leave a worker that waits actively 30 µs later.
int loops_with_an_active_wait() {
  int count = 0;
  for (int loop = 0; loop < 100; ++loop) {
    parallel_for(8, [](std::int64_t) { std::this_thread::sleep_for(std::chrono::microseconds(100)); });
    auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds(30);
    while (std::chrono::steady_clock::now() < end) {
    }
    count += detail::workers_are_awake() ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return count;
}

TEST_F(Threads, DoNotWaitActivelyAfterTheProcessLostCpus) {
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one CPU";
  options().threads = 2;
  EXPECT_GT(loops_with_an_active_wait(), 0);
  test::OneProcessor const here;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a count of CPUs holds for 10 ms
  // A worker that another program interrupts at the end of a loop counts, too.
  EXPECT_LT(loops_with_an_active_wait(), 10);
}
#endif

#if !defined(__SANITIZE_THREAD__)  // TSan cannot start threads in the child of a multithreaded process
TEST_F(Threads, ForkedChildStartsNewPool) {
  // Forking while another thread's loop runs copies a pool that is in use into the child.
  std::jthread busy([](std::stop_token const& stop) {
    while (!stop.stop_requested()) {
      parallel_for(64, [](std::int64_t) {});
    }
  });
  for (int round = 0; round < 20; ++round) {
    pid_t const child = fork();
    if (child == 0) {
      alarm(20);
      std::atomic<int> runs{0};
      for (int i = 0; i < 20; ++i) {
        parallel_for(100, [&](std::int64_t) { ++runs; });
      }
      _exit(runs == 2000 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}
#endif

}  // namespace
}  // namespace memarray
