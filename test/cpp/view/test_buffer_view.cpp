#include <memarray/view/buffer_view.hpp>

#include <memarray/base/reports.hpp>
#include <memarray/memarray.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class View>
concept CanFill = requires(View view) { view.fill(1.0); };
static_assert(CanFill<BufferView> && !CanFill<ConstBufferView>, "read-only is a type");
static_assert(std::is_convertible_v<BufferView, ConstBufferView> &&
              !std::is_convertible_v<ConstBufferView, BufferView>);
static_assert(!std::is_constructible_v<BufferView, ConstBufferView>);
static_assert(!std::is_constructible_v<BufferView, ReadLease<double, 2>>, "a read lease exports read-only memory");
static_assert(std::is_same_v<decltype(std::declval<ConstBufferView>().data()), std::byte const*>);
template <class View, class T>
concept TakesMemory = requires(T* data) { View::from_memory(data, {2}, nullptr); };
static_assert(TakesMemory<BufferView, float> && !TakesMemory<BufferView, float const> &&
              TakesMemory<ConstBufferView, float const>);

class BufferViewTest : public ::testing::Test {
 protected:
  BufferViewTest() {
    WriteLease<double, 2> const lease(array);
    std::iota(lease.ptr(), lease.ptr() + 12, 0.0);
  }
  MemArray<double, 2> array{{3, 4}};
};

std::vector<double> values(ConstBufferView const& view) {
  ArrayView<double const, 1> const flat = view.copy().reshape(std::array<std::int64_t, 1>{-1}).as<double const, 1>();
  return {flat.data(), flat.data() + flat.size()};
}

TEST_F(BufferViewTest, ViewOfAnArrayIsASnapshot) {
  ConstBufferView const view = array.view();
  EXPECT_EQ(view.dtype(), dtype_of<double>());
  EXPECT_THAT(view.shape(), ElementsAre(3, 4));
  EXPECT_THAT(view.strides(), ElementsAre(32, 8));
  EXPECT_EQ(view.size(), 12);
  EXPECT_TRUE(view.is_contiguous() && view.transpose().is_fortran_contiguous());
  EXPECT_FALSE(view.is_fortran_contiguous() || view.transpose().is_contiguous());
  EXPECT_TRUE(view.device().is_cpu());
  EXPECT_EQ(view.memory_type(), MemoryType::normal);
  array.fill(7.0);
  EXPECT_EQ(values(view)[11], 11.0);
  EXPECT_EQ(values(array.view())[11], 7.0);
}

TEST_F(BufferViewTest, ViewOutlivesItsLeaseAndClosedLeaseGivesNone) {
  BufferView kept;
  {
    WriteLease<double, 2> const lease(array);
    kept = lease.view();
    kept.fill(2.0);
    EXPECT_EQ(kept.data(), reinterpret_cast<std::byte*>(lease.ptr()));
  }
  EXPECT_EQ(values(kept)[3], 2.0);
  ReadLease<double, 2> lease(array);
  ConstBufferView const seen = lease.view();
  EXPECT_EQ(values(seen)[3], 2.0);
  lease.close();
  EXPECT_THROW(static_cast<void>(lease.view()), LockError);
}

TEST_F(BufferViewTest, FromMemoryKeepsTheOwnerAlive) {
  auto owner = std::make_shared<std::vector<float>>(6, 2.0F);
  std::weak_ptr<std::vector<float>> const alive = owner;
  BufferView view = BufferView::from_memory(owner->data(), {2, 3}, owner);
  EXPECT_EQ(view.dtype(), dtype_of<float>());
  EXPECT_THAT(view.strides(), ElementsAre(12, 4));
  view.fill(3.0F);
  EXPECT_EQ((*owner)[5], 3.0F);
  ConstBufferView part = ConstBufferView::from_memory(std::as_const(*owner).data() + 2, {3}, owner, {-4});
  EXPECT_EQ((part.as<float const, 1>()(2)), 3.0F);
  owner.reset();
  view.close();
  EXPECT_FALSE(alive.expired());
  part.close();
  EXPECT_TRUE(alive.expired());
}

TEST_F(BufferViewTest, InvalidMemoryIsRefusedAndItsOwnerReleased) {
  alignas(8) static double numbers[4] = {};
  auto* const odd = reinterpret_cast<double*>(reinterpret_cast<std::byte*>(numbers) + 1);
  auto const refused = [](double* data, ListOf<std::int64_t> shape, ListOf<std::int64_t> strides) {
    auto owner = std::make_shared<int>(0);
    std::weak_ptr<int> const alive = owner;
    EXPECT_THROW(static_cast<void>(BufferView::from_memory(data, shape, std::move(owner), strides)), BufferError);
    EXPECT_TRUE(alive.expired());
  };
  refused(numbers, {-1}, {});
  refused(numbers, {2, 2}, {8});
  refused(numbers, {INT64_MAX, 2}, {});
  refused(nullptr, {2}, {});
  refused(odd, {1}, {});
}

TEST_F(BufferViewTest, RoundTripsThroughDLPack) {
  for (bool const versioned : {false, true}) {
    WriteLease<double, 2> const lease(array);
    DLPackTensor exported = lease.view().slice(1, {.step = 2}).get_dlpack_tensor(versioned);
    EXPECT_EQ(exported.is_versioned(), versioned);
    BufferView const back = versioned ? BufferView::from_dlpack(exported.release_versioned())
                                      : BufferView::from_dlpack(exported.release_unversioned());
    EXPECT_EQ(back.data(), reinterpret_cast<std::byte*>(lease.ptr()));
    EXPECT_THAT(back.shape(), ElementsAre(3, 2));
    EXPECT_THAT(back.strides(), ElementsAre(32, 16));
  }
  // A `BufferView` refuses and releases read-only memory. The unversioned struct cannot express read-only.
  DLPackTensor exported = array.view().get_dlpack_tensor();
  EXPECT_THROW(static_cast<void>(BufferView::from_dlpack(exported.release_versioned())), BufferError);
  EXPECT_THROW(static_cast<void>(array.view().get_dlpack_tensor(false)), BufferError);
  DLPackTensor again = array.view().get_dlpack_tensor();
  EXPECT_EQ(values(ConstBufferView::from_dlpack(again.release_versioned()))[11], 11.0);
}

TEST_F(BufferViewTest, PlanMatchesThatOfTheStridedKernel) {
  ConstBufferView const view = array.view();
  EXPECT_EQ(view.plan("sum"), to_string(detail::plan("sum", view.dtype(), view.layout(), 3)));
  EXPECT_NE(view.plan("sum", {0}), view.plan("sum"));
  EXPECT_EQ(view.plan("sum", {-2}), view.plan("sum", {0}));
  EXPECT_THROW(static_cast<void>(view.plan("median")), ValueError);
  EXPECT_THROW(static_cast<void>(view.plan("sum", {2})), IndexError);
  EXPECT_THROW(static_cast<void>(ConstBufferView().plan("sum")), ValueError);
}

TEST_F(BufferViewTest, ViewOfAWriteLeaseCanWrite) {
  {
    WriteLease<double, 2> const lease(array);
    BufferView const view(lease);
    view.slice(0, {.start = 1}).slice(1, {.step = -2}).fill(0.5);
  }
  EXPECT_THAT(values(array.view()), ElementsAre(0, 1, 2, 3, 4, 0.5, 6, 0.5, 8, 0.5, 10, 0.5));
  ReadLease<double, 2> const lease(array);
  EXPECT_EQ(values(ConstBufferView(lease)).size(), 12U);
}

TEST_F(BufferViewTest, ViewOfAClosedLeaseIsRefused) {
  WriteLease<double, 2> lease(array);
  lease.close();
  EXPECT_THROW(BufferView{lease}, LockError);
}

TEST_F(BufferViewTest, IsCountedAsReadOnlyOrWritableExport) {
  detail::Block const& block = array.state().residency().block();
  {
    WriteLease<double, 2> const lease(array);
    BufferView const writable(lease);
    EXPECT_EQ(block.exports().writable, 1U);
    ConstBufferView const looks = writable;
    EXPECT_EQ(block.exports().writable, 1U);
    EXPECT_EQ(block.exports().read_only, 1U);
    ConstBufferView const repeated = writable.select(0, 0).broadcast_to(std::array<std::int64_t, 2>{5, 4});
    EXPECT_EQ(block.exports().read_only, 2U);
  }
  EXPECT_EQ(block.exports().total(), 0U);
}

TEST_F(BufferViewTest, ShapeOperationsGiveTheExpectedElements) {
  ConstBufferView const view = array.view();
  EXPECT_THAT(values(view.slice(0, {.step = -2})), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3));
  EXPECT_THAT(values(view.select(1, -1)), ElementsAre(3, 7, 11));
  EXPECT_THAT(view.insert(1).shape(), ElementsAre(3, 1, 4));
  EXPECT_THAT(values(view.transpose()), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_THAT(view.reshape({-1, 2}).shape(), ElementsAre(6, 2));
  EXPECT_THAT(
      message_of<ValueError>([&] { static_cast<void>(view.transpose().reshape(std::array<std::int64_t, 1>{12})); }),
      HasSubstr("without a copy"));
  EXPECT_THAT(values(view.select(0, 0).broadcast_to({2, 4})), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
}

TEST_F(BufferViewTest, TypedViewsIndexElementsAndRefuseWrongTypes) {
  ConstBufferView const view = array.view();
  auto const typed = view.transpose().as<double const, 2>();
  EXPECT_EQ(typed.extent(0), 4);
  EXPECT_EQ(typed.stride(0), 1);
  EXPECT_EQ(typed(3, 1), 7.0);
  auto const span = typed.mdspan();
  EXPECT_EQ(span.extent(1), 3);
  EXPECT_EQ(span.mapping()(3, 1), 7);
  EXPECT_THROW((view.as<float const, 2>()), TypeError);
  EXPECT_THROW((view.as<double const, 3>()), TypeError);
  EXPECT_THAT(message_of<TypeError>([&] { static_cast<void>(view.as<float const, 2>()); }),
              HasSubstr("float64, shape (3, 4)"));
  auto const flipped = view.slice(0, {.step = -1}).as<double const, 2>();
  EXPECT_EQ(flipped(0, 0), 8.0);
  EXPECT_THROW(static_cast<void>(flipped.mdspan()), ValueError);
}

TEST_F(BufferViewTest, ATypedViewKeepsTheMemory) {
  auto typed = [] {
    MemArray<int, 1> gone({3});
    gone.fill(5);
    return gone.view().as<int const, 1>();
  }();
  EXPECT_EQ(typed(2), 5);
}

TEST_F(BufferViewTest, CopiesAreReported) {
  ConstBufferView const view = array.view();
  std::int64_t const before = counters().copies;
  EXPECT_EQ(view.ensure_contiguous().data(), view.data());
  EXPECT_EQ(counters().copies, before);
  ConstBufferView const dense = view.transpose().ensure_contiguous();
  EXPECT_TRUE(dense.is_contiguous());
  EXPECT_EQ(counters().copies, before + 1);
  BufferView const own = view.copy();
  own.fill(1.0);
  EXPECT_EQ(counters().copies, before + 2);
  EXPECT_EQ((view.as<double const, 2>()(2, 3)), 11.0);
  EXPECT_EQ((view.cast(dtype_of<float>()).as<float, 2>()(2, 3)), 11.0F);
  EXPECT_THROW(static_cast<void>(view.cast(dtype_of<int>())), TypeError);
}

TEST_F(BufferViewTest, ReducesOverAxesAndRefusesInvalidOnes) {
  ConstBufferView const view = array.view().slice(1, {.step = -1});
  EXPECT_EQ((view.sum().as<double, 0>()()), 66.0);
  EXPECT_EQ((view.sum({0}).as<double, 1>()(0)), 21.0);
  EXPECT_EQ((view.max(std::array{-1}).as<double, 1>()(2)), 11.0);
  EXPECT_EQ((view.min().as<double, 0>()()), 0.0);
  EXPECT_EQ((view.mean().as<double, 0>()()), 5.5);
  EXPECT_THROW(static_cast<void>(view.sum(std::array{2})), IndexError);
  EXPECT_THROW(static_cast<void>(view.sum({1, -1})), ValueError);
  EXPECT_THROW(static_cast<void>(view.slice(0, {.stop = 0}).min()), ValueError);
}

TEST_F(BufferViewTest, AddIndexWritesThroughATransposedView) {
  WriteLease<double, 2> const lease(array);
  BufferView const view(lease);
  view.fill(0.0);
  view.transpose().add_index();
  EXPECT_EQ((view.as<double, 2>()(2, 3)), 5.0);
  EXPECT_THAT(message_of<TypeError>([&] { view.fill(1.0F); }), HasSubstr("no elements of float32"));
}

TEST_F(BufferViewTest, ClosedViewsRefuseEveryOperation) {
  ConstBufferView view = array.view();
  ConstBufferView const part = view.select(0, 1);
  view.close();
  view.close();
  EXPECT_FALSE(view.is_open());
  EXPECT_THROW(static_cast<void>(view.data()), ValueError);
  EXPECT_THROW(static_cast<void>(view.copy()), ValueError);
  EXPECT_THROW(static_cast<void>(view.select(0, 0)), ValueError);
  EXPECT_THROW(static_cast<void>(view.sum()), ValueError);
  EXPECT_THROW(static_cast<void>(view.as<double const, 2>()), ValueError);
  EXPECT_EQ(values(part)[0], 4.0);
  EXPECT_THROW(static_cast<void>(ConstBufferView().device()), ValueError);
}

TEST_F(BufferViewTest, ReadOnlyMemoryIsRefused) {
  detail::ViewCore const core = array.view().core();
  EXPECT_THROW(BufferView{core}, BufferError);
  EXPECT_THROW((ArrayView<double, 2>(core)), BufferError);
}

}  // namespace
}  // namespace memarray::test
