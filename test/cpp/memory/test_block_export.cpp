#include <memarray/detail/memory/block_export.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <utility>

namespace memarray::test {
namespace {

using detail::Block;
using detail::BlockExport;
using detail::BlockPtr;

struct Memory {
  int drops = 0;
  char bytes[16] = {};
  BlockPtr block =
      Block::adopt(bytes, sizeof bytes, Device{}, MemoryType::normal,
                   Block::KeepAlive{this, [](void* memory) noexcept { ++static_cast<Memory*>(memory)->drops; }});
};

TEST(BlockExport, IsCountedUntilDestroyed) {
  Memory memory;
  {
    BlockExport const one(*memory.block, true);
    BlockExport const two = one;
    BlockExport const other(*memory.block, false);
    EXPECT_EQ(memory.block->exports().writable, 2U);
    EXPECT_EQ(memory.block->exports().read_only, 1U);
    EXPECT_TRUE(two.writable());
    EXPECT_FALSE(other.writable());
  }
  EXPECT_EQ(memory.block->exports().total(), 0U);
}

TEST(BlockExport, MovesAndAssignmentsKeepTheCountCorrect) {
  Memory memory;
  BlockExport one(*memory.block, true);
  BlockExport two = std::move(one);
  EXPECT_FALSE(one);  // NOLINT(bugprone-use-after-move): a moved-from export is null
  EXPECT_EQ(memory.block->exports().writable, 1U);
  two = BlockExport(*memory.block, false);
  EXPECT_EQ(memory.block->exports().writable, 0U);
  EXPECT_EQ(memory.block->exports().read_only, 1U);
  BlockExport const& same = two;
  two = same;
  EXPECT_EQ(memory.block->exports().read_only, 1U);
  two = {};
  EXPECT_EQ(memory.block->exports().total(), 0U);
}

TEST(BlockExport, AloneKeepsTheMemoryAlive) {
  Memory memory;
  BlockExport one(*memory.block, false);
  memory.block = {};
  EXPECT_EQ(memory.drops, 0);
  BlockExport two = one;
  one = {};
  EXPECT_EQ(memory.drops, 0);
  two = {};
  EXPECT_EQ(memory.drops, 1);
}

TEST(BlockExport, TakesOverAndReleasesACount) {
  Memory memory;
  memory.block->add_export(true);
  BlockExport one = BlockExport::counted(*memory.block, true);
  EXPECT_EQ(memory.block->exports().writable, 1U);
  Block* const block = one.release();
  EXPECT_FALSE(one);
  EXPECT_EQ(memory.block->exports().writable, 1U);
  block->drop_export(true);
  EXPECT_EQ(memory.block->exports().total(), 0U);
}

}  // namespace
}  // namespace memarray::test
