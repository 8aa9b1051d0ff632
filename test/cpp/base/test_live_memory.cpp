#include <memarray/base/live_memory.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace memarray::test {
namespace {

TEST(LiveMemory, CountsAllocatedMinusFreed) {
  LiveMemory const before = live_memory();
  detail::count_live(1, 100);
  detail::count_live(1, 30);
  EXPECT_EQ(live_memory().blocks, before.blocks + 2);
  EXPECT_EQ(live_memory().bytes, before.bytes + 130);
  detail::count_live(-1, -100);
  detail::count_live(-1, -30);
  EXPECT_EQ(live_memory().blocks, before.blocks);
  EXPECT_EQ(live_memory().bytes, before.bytes);
}

TEST(LiveMemory, OverflowedByteCountRecovers) {
  LiveMemory const before = live_memory();
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max() - 3;
  for (int i = 0; i < 3; ++i) detail::count_live(1, huge);
  std::thread([] { detail::count_live(1, huge); }).join();
  EXPECT_EQ(live_memory().blocks, before.blocks + 4);
  for (int i = 0; i < 4; ++i) detail::count_live(-1, -huge);
  EXPECT_EQ(live_memory().bytes, before.bytes);
}

TEST(LiveMemory, ConcurrentCountsAddUp) {
  LiveMemory const before = live_memory();
  constexpr int rounds = 20, threads = 8, blocks = 1000;
  for (int round = 0; round < rounds; ++round) {  // later threads reuse the counters of earlier ones
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
      running.emplace_back([] {
        for (int i = 0; i < blocks; ++i) detail::count_live(1, 64);
      });
    for (std::thread& thread : running) thread.join();
  }
  EXPECT_EQ(live_memory().blocks, before.blocks + rounds * threads * blocks);
  EXPECT_EQ(live_memory().bytes, before.bytes + rounds * threads * blocks * 64);
  detail::count_live(-rounds * threads * blocks, -rounds * threads * blocks * 64);  // freed by another thread
  EXPECT_EQ(live_memory().blocks, before.blocks);
  EXPECT_EQ(live_memory().bytes, before.bytes);
}

// A thread-local whose destructor frees memory after the thread has handed its counter to another thread.
struct FreesLate {
  ~FreesLate() { detail::count_live(-1, -8); }
};

TEST(LiveMemory, ThreadLocalDestructorsAreCounted) {
  LiveMemory const before = live_memory();
  std::vector<std::thread> running;
  for (int t = 0; t < 8; ++t)
    running.emplace_back([] {
      thread_local FreesLate const late;  // constructed before the thread counts, so destroyed after
      static_cast<void>(late);
      detail::count_live(1, 8);
    });
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(live_memory().blocks, before.blocks);
  EXPECT_EQ(live_memory().bytes, before.bytes);
}

TEST(LiveMemory, ForkedChildInheritsCounts) {
  detail::count_live(1, 50);
  LiveMemory const before = live_memory();
  pid_t const child = fork();
  if (child == 0) {
    detail::count_live(1, 5);
    std::thread([] { detail::count_live(1, 5); }).join();
    LiveMemory const here = live_memory();
    _exit(here.blocks == before.blocks + 2 && here.bytes == before.bytes + 10 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(live_memory().blocks, before.blocks);
  detail::count_live(-1, -50);
}

}  // namespace
}  // namespace memarray::test
