#include <memarray/detail/view/adopt.hpp>

#include <memarray/base/reports.hpp>
#include <memarray/memarray.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

using detail::Block;
using detail::BlockExport;
using detail::BlockPtr;
using detail::ViewCore;

/// A fixture with six floats that another owner keeps.
class AdoptTest : public ::testing::Test {
 protected:
  [[nodiscard]] BufferView export_memory() {
    BlockPtr const block =
        Block::adopt(memory, sizeof memory, Device{}, MemoryType::normal, Block::KeepAlive{&drops, drop});
    return BufferView(ViewCore(BlockExport(*block, true), block->data(), dtype_of<float>(),
                               StridedLayout::dense(std::array<std::int64_t, 2>{2, 3}, sizeof(float))));
  }
  static void drop(void* count) noexcept { ++*static_cast<int*>(count); }
  alignas(64) float memory[6] = {0, 1, 2, 3, 4, 5};
  int drops = 0;
};

TEST_F(AdoptTest, SharesTheOtherOwnersMemory) {
  {
    auto array = MemArray<float, 2>::adopt(export_memory());
    EXPECT_TRUE(array.is_foreign());
    EXPECT_EQ(array({1, 2}), 5.0F);
    array.write({1, 2}, 7.0F);
    EXPECT_EQ(memory[5], 7.0F);
    array.fill(1.0F);
    EXPECT_EQ(memory[0], 1.0F);
    EXPECT_EQ(drops, 0);
  }
  EXPECT_EQ(drops, 1);
}

TEST_F(AdoptTest, ResizeMovesTheArrayToOwnMemory) {
  auto array = MemArray<float, 2>::adopt(export_memory());
  std::int64_t const before = counters().copies;
  array.resize({3, 3});
  EXPECT_EQ(counters().copies, before + 1);
  EXPECT_FALSE(array.is_foreign());
  EXPECT_EQ(drops, 1);
  EXPECT_EQ(array({1, 2}), 5.0F);
  EXPECT_EQ(array({2, 2}), 0.0F);
}

TEST_F(AdoptTest, EscapedViewKeepsTheForeignMemoryAlive) {
  auto array = MemArray<float, 2>::adopt(export_memory());
  ConstBufferView kept = array.view();
  {
    WriteLease<float, 2> const lease(array);
    *lease.ptr() = 9.0F;
  }
  EXPECT_FALSE(array.is_foreign());
  EXPECT_EQ(memory[0], 0.0F);
  EXPECT_EQ(array({0, 0}), 9.0F);
  EXPECT_EQ(drops, 0);
  kept.close();
  EXPECT_EQ(drops, 1);
}

TEST_F(AdoptTest, PartialViewKeepsTheWholeMemoryAlive) {
  auto array = MemArray<float, 1>::adopt(export_memory().select(0, 1));
  EXPECT_EQ(array({0}), 3.0F);
  EXPECT_EQ(drops, 0);
  array.fill(8.0F);
  EXPECT_EQ(memory[2], 2.0F);
  EXPECT_EQ(memory[3], 8.0F);
}

TEST_F(AdoptTest, AdoptedArrayCountsAsAnEscapedViewOfItsSource) {
  MemArray<float, 2> source({2, 3});
  source.escaped_views(EscapedViews::error);
  {
    WriteLease<float, 2> lease(source);
    auto const array = MemArray<float, 2>::adopt(BufferView(lease));
    lease.close();
    EXPECT_THROW(source.fill(1.0F), LockError);
  }
  source.fill(1.0F);
}

TEST_F(AdoptTest, UnsuitableViewsAreRefused) {
  using Array = MemArray<float, 2>;
  EXPECT_THROW(static_cast<void>(Array::adopt(export_memory().transpose())), BufferError);
  EXPECT_THROW(static_cast<void>(Array::adopt(export_memory().slice(1, {.step = -1}))), BufferError);
  EXPECT_THROW(static_cast<void>(Array::adopt(BufferView())), ValueError);
  EXPECT_THROW(static_cast<void>((MemArray<float, 1>::adopt(export_memory()))), TypeError);
  EXPECT_THROW(static_cast<void>((MemArray<double, 2>::adopt(export_memory()))), TypeError);
  EXPECT_THROW(static_cast<void>(detail::adopt(export_memory().core().read_only())), BufferError);
  EXPECT_EQ(drops, 5);
}

/// A fixture with a view of an array's device memory that outlives the array.
class AdoptOnDeviceTest : public DeviceArrayTest {
 protected:
  AdoptOnDeviceTest() {
    MemArray<double, 2> first({4, 25});
    count_up(first);
    first.move_memory(kDLCUDA, 0, 0);
    WriteLease<double, 2> const lease(first, {.stream = mine});
    view = BufferView(lease);
  }
  static double sum_of(BufferView const& of) {
    double value = 0;
    of.sum().core().read_element(&value);
    return value;
  }

  StreamHandle mine = create_stream_handle(get_primary_context(0));
  StreamHandle other = create_stream_handle(get_primary_context(0));
  BufferView view;
};

TEST_F(AdoptOnDeviceTest, AdoptedMemoryIsTheDeviceSide) {
  auto array = MemArray<double, 2>::adopt(view);
  EXPECT_TRUE(array.is_foreign());
  EXPECT_TRUE(array.get_on_device());
  EXPECT_EQ(array.state().residency().block().data(), view.core().data());
  EXPECT_EQ(array.get_dlpack_device(), std::pair(kDLExtDev, 0));
  EXPECT_EQ(array({3, 24}), 99.0);
  for_each_index(array, other, [](double& element, auto const&) { element += 1.0; });
  EXPECT_EQ(sum_of(view), 5050.0);
  array.move_memory(kDLCPU, 0, 0);
  EXPECT_FALSE(array.is_foreign());
  array.fill(1.0);
  EXPECT_EQ(sum_of(view), 5050.0);
  array.move_memory(kDLCUDA, 0, 0);
  EXPECT_TRUE(array.is_foreign());
  EXPECT_EQ(sum_of(view), 100.0);
}

TEST_F(AdoptOnDeviceTest, WorkIsOrderedWithOtherUsesOfTheMemory) {
  sim.delay(std::chrono::milliseconds(5));
  view.fill(3.0);
  auto array = MemArray<double, 2>::adopt(view.slice(0, {.start = 1, .stop = 3}));
  auto again = MemArray<double, 2>::adopt(view.slice(0, {.start = 1, .stop = 3}));
  for_each_index(array, other, [](double& element, auto const&) { element *= 2.0; });
  for_each_index(again, mine, [](double& element, auto const&) { element += 1.0; });
  for_each_index(array, other, [](double& element, auto const&) { element *= 10.0; });
  EXPECT_EQ(sum_of(view), 50 * 3.0 + 50 * 70.0);
  EXPECT_EQ(again({0, 0}), 70.0);
}

TEST_F(AdoptOnDeviceTest, MemoryIsReleasedAfterItsPendingWork) {
  sim.delay(std::chrono::milliseconds(5));
  {
    auto array = MemArray<double, 2>::adopt(view);
    view.close();
    for_each_index(array, other, [](double& element, auto const&) { element *= 2.0; });
  }
  // This allocation would reuse the memory if it had been freed too early.
  MemArray<double, 2> next({4, 25});
  next.move_memory(kDLCUDA, 0, 0);
  next.fill(5.0);
  EXPECT_EQ(next({3, 24}), 5.0);
}

TEST_F(AdoptOnDeviceTest, ResizeMovesTheArrayToOwnMemory) {
  auto array = MemArray<double, 2>::adopt(view);
  ConstBufferView kept;
  {
    ReadLease<double, 2> const lease(array);
    kept = ConstBufferView(lease);
  }
  auto before = copies();
  array.fill(1.0);  // the old contents are discarded
  EXPECT_EQ(copies(), before);
  EXPECT_FALSE(array.is_foreign());
  EXPECT_EQ(sum_of(view), 4950.0);
  array = MemArray<double, 2>::adopt(view);
  before = copies();
  array.resize({5, 25});
  EXPECT_EQ(copies(), before + 1);
  EXPECT_FALSE(array.is_foreign());
  EXPECT_EQ(array({3, 24}), 99.0);
  EXPECT_EQ(array({4, 0}), 0.0);
  EXPECT_THROW(static_cast<void>(MemArray<double, 2>::adopt(view.transpose())), BufferError);
}

}  // namespace
}  // namespace memarray::test
