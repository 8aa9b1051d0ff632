#include <memarray/detail/memory/block.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <memarray/base/errors.hpp>
#include <memarray/base/live_memory.hpp>

#include "resource_suite.hpp"

namespace memarray::test {
namespace {

using detail::Block;
using detail::BlockPtr;

class BlockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    _blocks = live_memory().blocks;
    _bytes = live_memory().bytes;
  }
  void TearDown() override {
    EXPECT_EQ(upstream.blocks, 0) << "leaked";
    EXPECT_EQ(upstream.bytes, 0);
    EXPECT_EQ(live_memory().blocks, _blocks);
    EXPECT_EQ(live_memory().bytes, _bytes);
  }
  BlockPtr make(std::size_t bytes) {
    return Block::allocate(CountingResource(upstream), bytes, Block::Contents::uninitialized);
  }

  CountingResource::Counts upstream;

 private:
  std::int64_t _blocks = 0;
  std::int64_t _bytes = 0;
};

TEST_F(BlockTest, IsFreedWithItsLastReference) {
  BlockPtr first = make(100);
  BlockPtr const second = first;
  EXPECT_EQ(second->bytes(), 100U);
  first = {};
  EXPECT_EQ(upstream.blocks, 1);
  std::memset(second->data(), 1, 100);
}

TEST_F(BlockTest, MovesWithoutCounting) {
  BlockPtr first = make(8);
  BlockPtr second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is what is tested
  BlockPtr third;
  third = std::move(second);
  BlockPtr& itself = third;
  third = itself;
  EXPECT_TRUE(third);
  EXPECT_EQ(upstream.blocks, 1);
}

TEST_F(BlockTest, AnExportAloneKeepsTheMemory) {
  for (bool const writable : {false, true}) {
    BlockPtr block = make(64);
    Block* const bare = block.get();
    block->add_export(writable);
    block = {};
    EXPECT_EQ(upstream.blocks, 1);
    std::memset(bare->data(), 1, 64);
    bare->drop_export(writable);
    EXPECT_EQ(upstream.blocks, 0);
  }
}

TEST_F(BlockTest, CountsReadOnlyAndWritableExportsSeparately) {
  BlockPtr const block = make(64);
  for (int i = 0; i < 3; ++i) block->add_export(false);
  for (int i = 0; i < 2; ++i) block->add_export(true);
  EXPECT_EQ(block->exports().read_only, 3U);
  EXPECT_EQ(block->exports().writable, 2U);
  EXPECT_EQ(block->exports().total(), 5U);
  BlockPtr const reference = block;
  EXPECT_EQ(block->exports().total(), 5U) << "references are no exports";
  for (int i = 0; i < 3; ++i) block->drop_export(false);
  EXPECT_EQ(block->exports().read_only, 0U);
  EXPECT_EQ(block->exports().writable, 2U);
  for (int i = 0; i < 2; ++i) block->drop_export(true);
  EXPECT_EQ(block->exports().total(), 0U);
}

TEST_F(BlockTest, ExportsBeyondTheLimitAreRefused) {
  BlockPtr const block = make(64);
  for (bool const writable : {false, true}) {
    int counted = 0;
    EXPECT_THROW(for (; counted < 1 << 21; ++counted) block->add_export(writable), BufferError);
    EXPECT_GE(counted, 1'000'000);
    EXPECT_EQ(block->exports().total(), static_cast<std::uint32_t>(counted)) << "the refused one must not stay counted";
    for (; counted > 0; --counted) block->drop_export(writable);
  }
  EXPECT_EQ(block->exports().total(), 0U);
}

TEST_F(BlockTest, EmptyMemoryHasAnAddress) {
  BlockPtr const block = make(0);
  EXPECT_NE(block->data(), nullptr);
  EXPECT_EQ(block->bytes(), 0U);
}

TEST_F(BlockTest, FailedAllocationLeaksNothing) {
  upstream.failures = 1;
  EXPECT_THROW(static_cast<void>(make(64)), OutOfMemoryError);
}

TEST_F(BlockTest, ZeroedMemoryIsZero) {
  // The resource gives memory full of 0xAB.
  BlockPtr const block = Block::allocate(CountingResource(upstream), 4099, Block::Contents::zero);
  for (std::size_t i = 0; i < block->bytes(); ++i) ASSERT_EQ(block->data()[i], std::byte{0});
}

TEST_F(BlockTest, AForeignBlockReleasesItsKeepAliveOnce) {
  int drops = 0;
  char memory[16];
  auto const keep_alive = std::shared_ptr<void>(memory, [&](void*) { ++drops; });
  BlockPtr block =
      Block::adopt(memory, sizeof(memory), Device{}, MemoryType::normal, detail::keep_alive_of(keep_alive));
  EXPECT_TRUE(block->is_foreign());
  EXPECT_EQ(block->data(), reinterpret_cast<std::byte*>(memory));
  block->add_export(true);
  Block* const bare = block.get();
  const_cast<std::shared_ptr<void>&>(keep_alive).reset();
  block = {};
  EXPECT_EQ(drops, 0);
  bare->drop_export(true);
  EXPECT_EQ(drops, 1);
}

TEST_F(BlockTest, AdoptedMemoryMayBeHeldByAnExportAlone) {
  for (bool const writable : {false, true}) {
    int drops = 0;
    char memory[16];
    Block::KeepAlive const keep_alive{&drops, [](void* object) noexcept { ++*static_cast<int*>(object); }};
    Block& block = Block::adopt_exported(memory, sizeof(memory), Device{}, MemoryType::normal, keep_alive, writable);
    EXPECT_TRUE(block.is_foreign());
    EXPECT_EQ(block.exports().writable, writable ? 1U : 0U);
    EXPECT_EQ(block.exports().read_only, writable ? 0U : 1U);
    EXPECT_FALSE(block.add_export(writable)) << "there is one already";
    block.drop_export(writable);
    EXPECT_EQ(drops, 0);
    block.drop_export(writable);
    EXPECT_EQ(drops, 1);
  }
}

// The last owner frees, and must see all other owners' accesses as complete. The memory is written when freed, so a
// count with too weak an ordering is a race that the thread sanitizer reports.
TEST_F(BlockTest, LastReleaseFollowsTheAccessesOfAllOwners) {
  for (int round = 0; round < 200; ++round) {
    BlockPtr block = make(256);
    std::memset(block->data(), 1, 256);
    std::atomic<int> sum{0};
    std::vector<std::thread> readers;
    for (int r = 0; r < 3; ++r) {
      bool const writable = r == 2;
      block->add_export(writable);
      readers.emplace_back([bare = block.get(), writable, &sum] {
        int own = 0;
        for (std::size_t i = 0; i < 256; ++i) own += std::to_integer<int>(bare->data()[i]);
        sum.fetch_add(own, std::memory_order_relaxed);
        bare->drop_export(writable);
      });
    }
    block = {};
    for (std::thread& reader : readers) reader.join();
    ASSERT_EQ(sum, 3 * 256);
    ASSERT_EQ(upstream.blocks, 0);
  }
}

// An array writes in place when it sees no exports. The consumers' reads must be complete by then.
TEST_F(BlockTest, NoExportsMeansThatAllTheirReadsAreComplete) {
  BlockPtr const block = make(64);
  for (int round = 0; round < 500; ++round) {
    std::memset(block->data(), round & 0x7F, 64);
    block->add_export(false);
    std::atomic<bool> wrong{false};
    std::thread reader([&] {
      std::byte const first = block->data()[0];
      for (std::size_t i = 0; i < 64; ++i)
        if (block->data()[i] != first) wrong.store(true, std::memory_order_relaxed);
      block->drop_export(false);
    });
    while (block->exports().total() != 0) std::this_thread::yield();
    std::memset(block->data(), 0xFF, 64);
    reader.join();
    ASSERT_FALSE(wrong);
  }
}

TEST_F(BlockTest, ReturnsTheKeepAliveOfForeignMemory) {
  alignas(64) static std::byte memory[64];
  EXPECT_EQ(make(8)->keep_alive().drop, nullptr);
  int object = 0;
  void (*const drop)(void*) noexcept = [](void* dropped) noexcept { ++*static_cast<int*>(dropped); };
  {
    BlockPtr const block = Block::adopt(memory, sizeof memory, Device{}, MemoryType::normal, {&object, drop});
    EXPECT_EQ(block->keep_alive().object, &object);
    EXPECT_EQ(block->keep_alive().drop, drop);
    EXPECT_EQ(object, 0);
  }
  EXPECT_EQ(object, 1);
}

TEST_F(BlockTest, CountsReferencesAndExportsAsHolders) {
  BlockPtr const block = make(8);
  EXPECT_EQ(block->holders(), 1U);
  BlockPtr const second = block;
  static_cast<void>(block->add_export(true));
  static_cast<void>(block->add_export(false));
  static_cast<void>(block->add_export(false));
  EXPECT_EQ(block->holders(), 5U);
  block->drop_export(true);
  block->drop_export(false);
  block->drop_export(false);
  EXPECT_EQ(block->holders(), 2U);
}

// Each block keeps the previous one alive.
TEST_F(BlockTest, ChainsOfAnyLengthAreFreed) {
  alignas(64) static std::byte memory[64];
  std::int64_t const before = live_memory().blocks;
  for (bool const exported : {false, true}) {
    BlockPtr last = make(8);
    for (int i = 0; i < 200'000; ++i) {
      auto const keep_alive = detail::keep_alive_of(std::make_shared<BlockPtr>(std::move(last)));
      if (exported) {
        Block& next = Block::adopt_exported(memory, sizeof memory, Device{}, MemoryType::normal, keep_alive, true);
        next.retain();
        next.drop_export(true);
        last = BlockPtr(&next);
      } else {
        last = Block::adopt(memory, sizeof memory, Device{}, MemoryType::normal, keep_alive);
      }
    }
    EXPECT_EQ(live_memory().blocks, before + 200'001);
    std::thread([&] { last = {}; }).join();
    EXPECT_EQ(live_memory().blocks, before);
  }
}

TEST_F(BlockTest, NestedKeepAlivesAreAllDroppedWhenTheOutermostIs) {
  struct Nested {
    int depth;
    int* dropped;
    static void drop(void* object) noexcept {
      Nested const mine = *static_cast<Nested*>(object);
      delete static_cast<Nested*>(object);
      ++*mine.dropped;
      for (int i = 0; mine.depth > 0 && i < 2; ++i)
        detail::drop_keep_alive({new Nested{mine.depth - 1, mine.dropped}, &Nested::drop});
    }
  };
  int dropped = 0;
  detail::drop_keep_alive({});
  detail::drop_keep_alive({new Nested{12, &dropped}, &Nested::drop});
  EXPECT_EQ(dropped, (1 << 13) - 1);
}

TEST_F(BlockTest, ExportCountIsCorrectAcrossThreads) {
  BlockPtr const block = make(64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&block, t] {
      for (int i = 0; i < 5000; ++i) {
        BlockPtr const own = block;
        own->add_export(t % 2 == 0);
        own->drop_export(t % 2 == 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(block->exports().total(), 0U);
}

}  // namespace
}  // namespace memarray::test
