// A pool over the memory of the system.

#include <memarray/memory/pooling_adaptor.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <stop_token>
#include <thread>
#include <vector>

#include <memarray/memory/pageable_resource.hpp>

#include "resource_suite.hpp"

namespace memarray::test {
namespace {

struct MakePoolOverPageable {
  static MemoryResource make(MemoryResource) { return PoolingAdaptor(PageableResource()); }
  static constexpr bool uses_upstream = false;
};
INSTANTIATE_TYPED_TEST_SUITE_P(PoolingPageable, ResourceSuite, MakePoolOverPageable);

TEST(PoolingPageable, ZeroedBlockFreedByAnotherThreadIsReusedAsZeroed) {
  PoolingAdaptor pool{PageableResource(), std::size_t{1} << 30};
  StreamHandle const stream = default_stream();
  std::size_t const bytes = std::size_t{8} << 20;
  auto* const zeroed = static_cast<unsigned char*>(pool.allocate_zeroed(stream, bytes));
  zeroed[bytes - 1] = 7;
  std::thread([&] { pool.deallocate(stream, zeroed, bytes); }).join();
  EXPECT_EQ(pool.allocate_zeroed(stream, bytes), zeroed);
  EXPECT_EQ(zeroed[bytes - 1], 0);
  pool.deallocate(stream, zeroed, bytes);
}

TEST(PoolingPageable, ZeroedAllocationsLeaveWarmBlocksForPlainOnes) {
  PoolingAdaptor pool{PageableResource(), std::size_t{1} << 30};
  StreamHandle const stream = default_stream();
  std::size_t const bytes = std::size_t{8} << 20;
  void* const warm = pool.allocate(stream, bytes);
  pool.deallocate(stream, warm, bytes);
  void* const zeroed = pool.allocate_zeroed(stream, bytes);
  EXPECT_NE(zeroed, warm);
  pool.deallocate(stream, zeroed, bytes);
  EXPECT_EQ(pool.allocate(stream, bytes), warm);
  void* const zeroed_again = pool.allocate_zeroed(stream, bytes);
  EXPECT_EQ(zeroed_again, zeroed);
  pool.deallocate(stream, zeroed, bytes);
  EXPECT_EQ(pool.allocate(stream, bytes), zeroed) << "better than none";
  pool.deallocate(stream, warm, bytes);
  pool.deallocate(stream, zeroed, bytes);
}

TEST(PoolingPageable, ForkedChildCanUseThePoolWhileParentThreadsAllocate) {
  PoolingAdaptor pool{PageableResource(), std::size_t{16} << 20};
  StreamHandle const stream = default_stream();
  std::atomic<int> threads_with_blocks{0};
  std::vector<std::jthread> threads;
  for (std::size_t id = 0; id < 2; ++id) {
    threads.emplace_back([&, id](std::stop_token const& stop) {
      std::size_t const bytes = 100000 + id * 30000;
      auto const allocate = [&] { pool.deallocate(stream, pool.allocate(stream, bytes), bytes); };
      allocate();
      ++threads_with_blocks;
      while (!stop.stop_requested()) allocate();
    });
  }
  // A child may stop in ThreadSanitizer's allocator if another thread was taking its first blocks there.
  while (threads_with_blocks < 2) std::this_thread::yield();
  for (int round = 0; round < 50; ++round) {
    pid_t const child = fork();
    if (child == 0) {
      alarm(20);
      for (int i = 0; i < 100; ++i) {
        std::size_t const bytes = 70000 + static_cast<std::size_t>(i) * 1000;
        auto* const memory = static_cast<char*>(pool.allocate_zeroed(stream, bytes));
        if (memory[bytes - 1] != 0) {
          _exit(1);
        }
        memory[bytes - 1] = 1;
        pool.deallocate(stream, memory, bytes);
      }
      _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

}  // namespace
}  // namespace memarray::test
