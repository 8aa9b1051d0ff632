#include <memarray/array/adopt.hpp>

#include <memarray/base/reports.hpp>
#include <memarray/memarray.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace memarray::test {
namespace {

using detail::Block;
using detail::BlockExport;
using detail::BlockPtr;
using detail::ViewCore;

/// Six floats that somebody else keeps.
class AdoptTest : public ::testing::Test {
 protected:
  [[nodiscard]] BufferView lent() {
    BlockPtr const block =
        Block::adopt(memory, sizeof memory, Device{}, MemoryType::normal, Block::Keeper{&let_go, drop});
    return BufferView(ViewCore(BlockExport(*block, true), block->data(), dtype_of<float>(),
                               StridedLayout::dense(std::array<std::int64_t, 2>{2, 3}, sizeof(float))));
  }
  static void drop(void* count) noexcept { ++*static_cast<int*>(count); }
  alignas(64) float memory[6] = {0, 1, 2, 3, 4, 5};
  int let_go = 0;
};

TEST_F(AdoptTest, IsTheOtherOwnersMemory) {
  {
    auto array = MemArray<float, 2>::adopt(lent());
    EXPECT_TRUE(array.is_foreign());
    EXPECT_EQ(array({1, 2}), 5.0F);
    array.write({1, 2}, 7.0F);
    EXPECT_EQ(memory[5], 7.0F);
    array.fill(1.0F);
    EXPECT_EQ(memory[0], 1.0F);
    EXPECT_EQ(let_go, 0);
  }
  EXPECT_EQ(let_go, 1);
}

TEST_F(AdoptTest, MovesOutWhereItMust) {
  auto array = MemArray<float, 2>::adopt(lent());
  std::int64_t const before = counters().copies;
  array.resize({3, 3});
  EXPECT_EQ(counters().copies, before + 1);
  EXPECT_FALSE(array.is_foreign());
  EXPECT_EQ(let_go, 1);
  EXPECT_EQ(array({1, 2}), 5.0F);
  EXPECT_EQ(array({2, 2}), 0.0F);
}

TEST_F(AdoptTest, KeptViewsKeepTheOthersMemory) {
  auto array = MemArray<float, 2>::adopt(lent());
  ConstBufferView kept = array.view();
  {
    WriteLease<float, 2> const lease(array);
    *lease.ptr() = 9.0F;
  }
  EXPECT_FALSE(array.is_foreign());
  EXPECT_EQ(memory[0], 0.0F);
  EXPECT_EQ(array({0, 0}), 9.0F);
  EXPECT_EQ(let_go, 0);
  kept.close();
  EXPECT_EQ(let_go, 1);
}

TEST_F(AdoptTest, PartOfMemoryKeepsAllOfIt) {
  auto array = MemArray<float, 1>::adopt(lent().select(0, 1));
  EXPECT_EQ(array({0}), 3.0F);
  EXPECT_EQ(let_go, 0);
  array.fill(8.0F);
  EXPECT_EQ(memory[2], 2.0F);
  EXPECT_EQ(memory[3], 8.0F);
}

TEST_F(AdoptTest, AnotherArraySeesAWritableView) {
  MemArray<float, 2> lender({2, 3});
  lender.escaped_views(EscapedViews::error);
  {
    WriteLease<float, 2> lease(lender);
    auto const array = MemArray<float, 2>::adopt(BufferView(lease));
    lease.close();
    EXPECT_THROW(lender.fill(1.0F), LockError);
  }
  lender.fill(1.0F);
}

TEST_F(AdoptTest, WhatItCannotBeIsRefused) {
  using Array = MemArray<float, 2>;
  EXPECT_THROW(static_cast<void>(Array::adopt(lent().transpose())), BufferError);
  EXPECT_THROW(static_cast<void>(Array::adopt(lent().slice(1, {.step = -1}))), BufferError);
  EXPECT_THROW(static_cast<void>(Array::adopt(BufferView())), ValueError);
  EXPECT_THROW(static_cast<void>((MemArray<float, 1>::adopt(lent()))), TypeError);
  EXPECT_THROW(static_cast<void>((MemArray<double, 2>::adopt(lent()))), TypeError);
  EXPECT_THROW(static_cast<void>(detail::adopt(lent().core().read_only())), BufferError);
  EXPECT_EQ(let_go, 5);
}

}  // namespace
}  // namespace memarray::test
