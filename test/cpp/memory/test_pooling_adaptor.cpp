#include <memarray/memory/pooling_adaptor.hpp>

#include <memarray/base/options.hpp>
#include <memarray/memory/pageable_resource.hpp>

#include "resource_suite.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace memarray::test {
namespace {

struct MakePool {
  static MemoryResource make(MemoryResource upstream) { return PoolingAdaptor(std::move(upstream)); }
  static constexpr bool uses_upstream = true;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Pooling, ResourceSuite, MakePool);

class PoolingAdaptorTest : public ::testing::Test {
 protected:
  void* take(std::size_t bytes) { return pool.allocate(stream, bytes); }
  void* take_zeroed(std::size_t bytes) { return pool.allocate_zeroed(stream, bytes); }
  void give(void* pointer, std::size_t bytes) { pool.deallocate(stream, pointer, bytes); }
  void make_and_drop(std::size_t bytes) { give(take(bytes), bytes); }
  std::size_t kept() const { return pool.statistics().kept_bytes; }

  static constexpr std::size_t MiB = std::size_t{1} << 20;
  CountingResource::Counts upstream;
  PoolingAdaptor pool{CountingResource(upstream), 64 * MiB};
  StreamHandle stream = default_stream();
};

TEST_F(PoolingAdaptorTest, ReusesAFreedBlock) {
  void* const first = take(MiB);
  give(first, MiB);
  EXPECT_EQ(kept(), MiB);
  EXPECT_EQ(take(MiB), first);
  EXPECT_EQ(kept(), 0U);
  give(first, MiB);
  EXPECT_EQ(pool.statistics().hits, 1U);
  EXPECT_EQ(pool.statistics().misses, 1U);
  EXPECT_EQ(upstream.allocations, 1);
}

/// Cannot zero memory that it has handed out.
struct NeverZeroes : CountingResource {
  using CountingResource::CountingResource;
  void* allocate_zeroed(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
    return std::memset(allocate(stream, bytes, alignment), 0, bytes);
  }
  void zero(StreamHandle const&, void*, std::size_t) { throw ValueError("no"); }
  [[nodiscard]] bool zeroes_lazily(std::size_t) const noexcept { return false; }
};

TEST_F(PoolingAdaptorTest, ABlockThatCannotBeZeroedIsNotLost) {
  PoolingAdaptor own{NeverZeroes(upstream), MiB};
  own.deallocate(stream, own.allocate(stream, 100), 100);
  EXPECT_THROW(static_cast<void>(own.allocate_zeroed(stream, 100)), ValueError);
  EXPECT_EQ(own.statistics().kept_blocks, 1U);
  own.trim();
  EXPECT_EQ(upstream.blocks, 0);
}

TEST_F(PoolingAdaptorTest, NewestFreedBlockIsReusedFirst) {
  void* const a = take(MiB);
  void* const b = take(MiB);
  give(a, MiB);
  give(b, MiB);
  EXPECT_EQ(take(MiB), b);
  EXPECT_EQ(take(MiB), a);
  give(a, MiB);
  give(b, MiB);
}

TEST_F(PoolingAdaptorTest, WastesAnEighthAtMost) {
  for (std::size_t bytes = PoolingAdaptor::smallest; bytes < 5 * MiB; bytes += bytes / 100 + 1) {
    void* const pointer = take(bytes);
    auto const taken = static_cast<std::size_t>(upstream.bytes);
    ASSERT_GE(taken, bytes);
    ASSERT_LE(taken - bytes, bytes / 8);
    give(pointer, bytes);
    ASSERT_EQ(kept(), taken);
    ASSERT_EQ(pool.trim(), taken);
  }
}

TEST_F(PoolingAdaptorTest, KeepsNoMoreThanItsLimitAndDropsTheOldest) {
  void* blocks[10];
  for (void*& block : blocks) {
    block = take(8 * MiB);
  }
  for (void* const block : blocks) {
    give(block, 8 * MiB);
    EXPECT_LE(kept(), 64 * MiB);
  }
  EXPECT_EQ(upstream.blocks, 8);
  void* again[8];
  for (int i = 0; i < 8; ++i) {
    again[i] = take(8 * MiB);
    EXPECT_EQ(again[i], blocks[9 - i]);
  }
  for (void* const block : again) {
    give(block, 8 * MiB);
  }
  make_and_drop(65 * MiB);
  EXPECT_EQ(upstream.bytes, 64 * static_cast<std::int64_t>(MiB));
}

TEST_F(PoolingAdaptorTest, PoolLimitOptionAppliesIfNoLimitIsGiven) {
  std::size_t const before = options().pool_limit;
  {
    PoolingAdaptor free_of_limit{CountingResource(upstream)};
    options().pool_limit = 2 * MiB;
    for (std::size_t const mebibytes : {1, 1, 2, 3}) {
      free_of_limit.deallocate(stream, free_of_limit.allocate(stream, mebibytes * MiB), mebibytes * MiB);
    }
    EXPECT_EQ(free_of_limit.statistics().kept_bytes, 2 * MiB);
    options().pool_limit = 0;
    free_of_limit.deallocate(stream, free_of_limit.allocate(stream, MiB), MiB);
    EXPECT_EQ(free_of_limit.statistics().kept_bytes, 0U);
  }
  options().pool_limit = before;
  EXPECT_EQ(upstream.blocks, 0);
}

TEST_F(PoolingAdaptorTest, TrimsTheOldestFirst) {
  void* const a = take(MiB);
  void* const b = take(4 * MiB);
  give(a, MiB);
  give(b, 4 * MiB);
  EXPECT_EQ(pool.trim(4 * MiB), MiB);
  EXPECT_EQ(kept(), 4 * MiB);
  EXPECT_EQ(pool.trim(), 4 * MiB);
  EXPECT_EQ(pool.trim(), 0U);
  EXPECT_EQ(upstream.blocks, 0);
}

TEST_F(PoolingAdaptorTest, ManyBlocksOfOneSizeAreReusedUpToTheLimit) {
  PoolingAdaptor small{CountingResource(upstream), 100 * PoolingAdaptor::smallest};
  std::vector<void*> blocks(1000);
  for (int round = 0; round < 3; ++round) {
    for (void*& block : blocks) {
      block = small.allocate(stream, PoolingAdaptor::smallest);
    }
    for (void* const block : blocks) {
      small.deallocate(stream, block, PoolingAdaptor::smallest);
    }
    EXPECT_EQ(small.statistics().kept_blocks, 100U);
    EXPECT_EQ(upstream.blocks, 100);
  }
  EXPECT_EQ(small.statistics().hits, 200U);
  small.trim();
}

TEST_F(PoolingAdaptorTest, SmallSizesShareTheSmallestBlockSize) {
  for (std::size_t const bytes : {std::size_t{0}, std::size_t{1}, PoolingAdaptor::smallest - 1}) {
    void* const pointer = take(bytes);
    give(pointer, bytes);
    EXPECT_EQ(kept(), PoolingAdaptor::smallest);
    EXPECT_EQ(take(PoolingAdaptor::smallest), pointer);
    give(pointer, PoolingAdaptor::smallest);
  }
}

#if defined(__SANITIZE_ADDRESS__)
TEST_F(PoolingAdaptorTest, FreeBlocksArePoisonedForAddressSanitizer) {
  PoolingAdaptor pageable{PageableResource(), 8 * MiB};
  auto const allowed = [](void* at, std::size_t i) { return !__asan_address_is_poisoned(static_cast<char*>(at) + i); };
  for (std::size_t const bytes : {std::size_t{100}, 2 * MiB + 100, 16 * MiB + 100})
    for (int round = 0; round < 4; ++round) {
      void* const pointer = round % 2 == 0 ? pageable.allocate(stream, bytes) : pageable.allocate_zeroed(stream, bytes);
      EXPECT_TRUE(allowed(pointer, 0) && allowed(pointer, bytes - 1) && !allowed(pointer, bytes)) << bytes;
      pageable.deallocate(stream, pointer, bytes);
      EXPECT_EQ(allowed(pointer, 0), bytes > 8 * MiB) << "over the limit it is the system's again";
      if (round == 3) EXPECT_TRUE(pageable.trim() == 0 || bytes < MiB || allowed(pointer, bytes));
    }
}
#endif

TEST_F(PoolingAdaptorTest, OveralignedBlocksBypassThePool) {
  pool.deallocate(stream, pool.allocate(stream, MiB, 4096), MiB, 4096);
  EXPECT_EQ(kept(), 0U);
  EXPECT_EQ(upstream.blocks, 0);
}

TEST_F(PoolingAdaptorTest, KeptBlocksAreFreedBeforeAnAllocationFails) {
  make_and_drop(8 * MiB);
  upstream.failures = 1;
  void* const pointer = take(MiB);
  EXPECT_EQ(kept(), 0U);
  give(pointer, MiB);
  upstream.failures = 2;
  try {
    static_cast<void>(take(2 * MiB));
    FAIL();
  } catch (OutOfMemoryError const& error) {
    EXPECT_NE(std::string(error.what()).find("2097152"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("1048576"), std::string::npos) << error.what();
  }
  upstream.failures = 0;
}

TEST_F(PoolingAdaptorTest, DeviceMemoryIsRefused) {
  struct Device {
    void* allocate(StreamHandle const&, std::size_t, std::size_t) { return nullptr; }
    void deallocate(StreamHandle const&, void*, std::size_t, std::size_t) noexcept {}
    MemoryType memory_type() const noexcept { return MemoryType::device; }
    bool operator==(Device const&) const noexcept { return true; }
  };
  EXPECT_THROW(PoolingAdaptor{Device()}, ValueError);
  MemoryResource device{Device()};
  EXPECT_THROW(static_cast<void>(device.allocate_zeroed(stream, 10)), CudaError);
}

class ThreadsOfAPoolTest : public PoolingAdaptorTest {
 protected:
  static constexpr std::size_t block = PoolingAdaptor::smallest;

  /// Calls `run` in a new thread, which then ends.
  template <class F>
  static void elsewhere(F&& run) {
    std::thread(std::forward<F>(run)).join();
  }
  std::vector<void*> take_many(int count, std::size_t bytes) {
    std::vector<void*> blocks;
    for (int i = 0; i < count; ++i) blocks.push_back(take(bytes));
    return blocks;
  }
  void give_all(std::vector<void*> const& blocks, std::size_t bytes) {
    for (void* const pointer : blocks) give(pointer, bytes);
  }
};

TEST_F(ThreadsOfAPoolTest, BlocksFreedByOneThreadAreReusedByAnother) {
  auto const blocks = take_many(100, block);
  elsewhere([&] { give_all(blocks, block); });
  give_all(take_many(100, block), block);
  EXPECT_EQ(upstream.allocations, 100);
  EXPECT_EQ(pool.statistics().hits, 100U);
  EXPECT_EQ(pool.statistics().misses, 100U);
}

TEST_F(ThreadsOfAPoolTest, TrimFreesBlocksOfAllThreads) {
  auto const blocks = take_many(60, MiB);
  for (auto first = blocks.begin(); first != blocks.end(); first += 3)
    elsewhere([&] { give_all({first, first + 3}, MiB); });
  EXPECT_EQ(kept(), 60 * MiB);
  EXPECT_EQ(pool.trim(10 * MiB), 50 * MiB);
  EXPECT_EQ(kept(), 10 * MiB);
  EXPECT_EQ(pool.trim(), 10 * MiB);
  EXPECT_EQ(upstream.blocks, 0);
}

// Ages of blocks freed by different threads are compared to within a few dozen blocks.
TEST_F(ThreadsOfAPoolTest, OldestBlockIsTrimmedFirstRegardlessOfThread) {
  auto const pass_time = [&] {
    for (int i = 0; i < 200; ++i) make_and_drop(block);
  };
  void* const first = take(MiB);
  void* const second = take(2 * MiB);
  void* const third = take(4 * MiB);
  elsewhere([&] { give(first, MiB); });
  pass_time();
  give(second, 2 * MiB);
  pass_time();
  elsewhere([&] { give(third, 4 * MiB); });
  for (std::size_t const mebibytes : {1, 2}) EXPECT_EQ(pool.trim(kept() - 1), mebibytes * MiB);
}

// A shard may cache the bytes granted to it. Bytes that it does not use are available to other shards.
TEST_F(ThreadsOfAPoolTest, LimitUsedByOneThreadBecomesAvailableToOthers) {
  PoolingAdaptor eight{CountingResource(upstream), 8 * MiB};
  auto const give_eight = [&](std::vector<void*> const& blocks) {
    for (void* const pointer : blocks) eight.deallocate(stream, pointer, MiB);
  };
  auto const take_eight = [&] {
    std::vector<void*> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(eight.allocate(stream, MiB));
    return blocks;
  };
  for (int round = 0; round < 3; ++round) {
    elsewhere([&] { give_eight(take_eight()); });
    auto const blocks = take_eight();
    EXPECT_EQ(eight.statistics().kept_bytes, 0U);
    give_eight(blocks);
    EXPECT_EQ(eight.statistics().kept_bytes, 8 * MiB);
  }
  EXPECT_EQ(upstream.allocations, 8);
  give_eight(take_many(8, MiB));
  EXPECT_EQ(eight.statistics().kept_bytes, 8 * MiB);
  EXPECT_EQ(upstream.blocks, 8);
}

TEST_F(ThreadsOfAPoolTest, LimitHoldsUnderConcurrentUse) {
  constexpr std::size_t limit = 512 << 10;
  constexpr std::size_t largest = 64 << 10;
  constexpr std::size_t thread_count = 4;
  PoolingAdaptor small{CountingResource(upstream), limit};
  std::atomic<int> running{thread_count};
  std::vector<std::thread> threads;
  for (std::size_t id = 0; id < thread_count; ++id) {
    threads.emplace_back([&, id] {
      std::uint32_t random = 2463534242u + static_cast<std::uint32_t>(id);
      std::vector<std::pair<unsigned char*, std::size_t>> mine(16);
      for (int i = 0; i < 5000; ++i) {
        random = random * 1664525u + 1013904223u;
        auto& [pointer, bytes] = mine[random >> 28];
        if (pointer) {
          // No other thread received the block.
          EXPECT_EQ(pointer[0], id);
          EXPECT_EQ(pointer[bytes - 1], id);
          small.deallocate(stream, pointer, bytes);
        }
        bytes = block + (random >> 8) % (largest - block);
        pointer = static_cast<unsigned char*>(small.allocate(stream, bytes));
        pointer[0] = pointer[bytes - 1] = static_cast<unsigned char>(id);
      }
      for (auto const& [pointer, bytes] : mine)
        if (pointer) small.deallocate(stream, pointer, bytes);
      --running;
    });
  }
  while (running > 0) {
    // Each thread may be returning one block to the pool.
    EXPECT_LE(small.statistics().kept_bytes, limit + thread_count * largest);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  auto const after = small.statistics();
  EXPECT_LE(after.kept_bytes, limit);
  EXPECT_GT(after.kept_bytes, limit - 2 * largest) << "nor does it keep much less";
  EXPECT_EQ(upstream.bytes, static_cast<std::int64_t>(after.kept_bytes));
  EXPECT_EQ(upstream.blocks, static_cast<std::int64_t>(after.kept_blocks));
  EXPECT_EQ(static_cast<std::int64_t>(after.misses), upstream.allocations);
  EXPECT_EQ(after.hits + after.misses, thread_count * 5000U);
}

}  // namespace
}  // namespace memarray::test
