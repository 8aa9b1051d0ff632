#include <memarray/view/array_view.hpp>

#include <memarray/memarray.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Strided = ArrayView<double const, 2>;
using Dense = ArrayView<double, 2, c_order>;
using Columns = ArrayView<double const, 2, f_order>;
using OnDevice = ArrayView<double, 1, on_device>;

static_assert(std::is_convertible_v<Dense, Strided> && !std::is_convertible_v<Strided, Dense>);
static_assert(std::is_convertible_v<Dense, ArrayView<double, 2>> &&
              !std::is_convertible_v<Strided, ArrayView<double, 2>>);
static_assert(!std::is_convertible_v<Dense, Columns>);
static_assert(!std::is_convertible_v<OnDevice, ArrayView<double, 1>>, "the host does not reach it");
static_assert(!std::is_invocable_v<OnDevice const&, int>);
static_assert(std::is_nothrow_move_constructible_v<Dense> && std::is_nothrow_move_assignable_v<Dense>);
template <class View>
using Reversed = decltype(std::declval<View const&>().transpose());
static_assert(std::is_same_v<Reversed<Dense>, ArrayView<double, 2, f_order>>);
static_assert(std::is_same_v<Reversed<Columns>, ArrayView<double const, 2, c_order>>);
static_assert(std::is_same_v<Reversed<Strided>, Strided>);
static_assert(std::is_same_v<Reversed<ArrayView<int, 1, c_order | f_order | on_device>>,
                             ArrayView<int, 1, c_order | f_order | on_device>>);
template <class View>
concept HasColumns = requires(View const& view) { view.leading_dimension(); };
static_assert(HasColumns<Strided> && HasColumns<Columns> && !HasColumns<OnDevice>);
static_assert(!std::is_nothrow_copy_constructible_v<Dense> && !noexcept(std::declval<Dense const&>().transpose()),
              "a transposed view is one more export, which may be refused");
static_assert(std::is_same_v<Dense::MdSpan::layout_type, cuda::std::layout_right>);
static_assert(std::is_same_v<Columns::MdSpan::layout_type, cuda::std::layout_left>);

class ArrayViewTest : public ArrayTest {
 protected:
  ArrayViewTest() { count_up(array); }
  MemArray<double, 2> array{{3, 4}};
};

TEST_F(ArrayViewTest, DefaultViewIsClosedAndEmpty) {
  Strided const view;
  EXPECT_FALSE(view.is_open());
  EXPECT_EQ(view.data(), nullptr);
  EXPECT_EQ(view.size(), 0);
  EXPECT_EQ(view.mdspan().size(), 0U);
  EXPECT_THROW(static_cast<void>(view.core()), ValueError);
  EXPECT_THROW(static_cast<void>(OnDevice().stream()), ValueError);
  EXPECT_THROW(static_cast<void>(OnDevice().context()), ValueError);
  EXPECT_EQ((ArrayView<int, 0>().size()), 0);
}

TEST_F(ArrayViewTest, DenseViewsGiveMdspansAndSpansInTheirOrder) {
  WriteLease const lease(array);
  auto const rows = BufferView(lease).as<double, 2, c_order>();
  EXPECT_EQ(rows(2, 3), 11.0);
  EXPECT_EQ(rows.mdspan()(2, 3), 11.0);
  EXPECT_EQ(rows.span().size(), 12U);
  EXPECT_EQ(rows.span()[5], 5.0);
  auto const columns = BufferView(lease).transpose().as<double const, 2, f_order>();
  EXPECT_EQ(columns(3, 2), 11.0);
  EXPECT_EQ(columns.mdspan()(3, 2), 11.0);
  EXPECT_EQ(columns.span()[5], 5.0);
}

TEST_F(ArrayViewTest, WrongOrderOrDeviceIsRefused) {
  ConstBufferView const view = array.view();
  EXPECT_THAT(message_of<TypeError>([&] { static_cast<void>(view.as<double const, 2, f_order>()); }),
              HasSubstr("strides (32, 8) bytes, which are not dense in Fortran's order"));
  EXPECT_THAT(message_of<TypeError>([&] { static_cast<void>(view.transpose().as<double const, 2, c_order>()); }),
              HasSubstr("not dense in C order"));
  EXPECT_THROW(static_cast<void>(view.slice(1, {.step = 2}).as<double const, 2, c_order>()), TypeError);
  EXPECT_THAT(message_of<BufferError>([&] { static_cast<void>(view.as<double const, 2, on_device>()); }),
              HasSubstr("on the host, not on a device"));
  // A single row has both orders, whatever its stride.
  EXPECT_EQ((view.slice(0, {.stop = 1}).as<double const, 2, c_order | f_order>()(0, 3)), 3.0);
}

TEST_F(ArrayViewTest, RefusalOfRowsNamesTheCopyInFortranOrder) {
  ConstBufferView const view = array.view();
  EXPECT_THAT(message_of<TypeError>([&] { static_cast<void>(view.as<double const, 2, f_order>()); }),
              HasSubstr("copy it by transpose().copy().transpose()"));
  auto const copied = view.transpose().copy().transpose().as<double const, 2, f_order>();
  EXPECT_EQ(copied(2, 3), 11.0);
}

TEST_F(ArrayViewTest, TransposeReversesTheDimensionsOfTheSameMemory) {
  WriteLease const lease(array);
  auto const rows = BufferView(lease).as<double, 2, c_order>();
  ArrayView<double, 2, f_order> const columns = rows.transpose();
  EXPECT_EQ(columns.data(), rows.data());
  EXPECT_EQ(columns.extent(0), 4);
  EXPECT_EQ(columns.extent(1), 3);
  EXPECT_EQ(columns.stride(0), 1);
  EXPECT_EQ(columns.stride(1), 4);
  EXPECT_EQ(columns(3, 2), 11.0);
  EXPECT_EQ(columns.span()[5], 5.0);
  EXPECT_EQ(columns.transpose().data(), rows.data());
  EXPECT_EQ(columns.transpose()(2, 3), 11.0);
  EXPECT_TRUE(rows.is_contiguous() && columns.is_fortran_contiguous());
  EXPECT_FALSE(rows.is_fortran_contiguous() || columns.is_contiguous());
  columns(0, 1) = -4.0;
  EXPECT_EQ(rows(1, 0), -4.0);
  ConstBufferView const untyped(columns.core());
  EXPECT_TRUE(untyped.is_fortran_contiguous() && !untyped.is_contiguous());
}

// A writer that waits for the lease must not find the export alive: it would be an escaped view.
TEST_F(ArrayViewTest, AssignmentDropsTheExportBeforeTheLease) {
  WriteLease const lease(array);
  detail::ViewCore core = BufferView(lease).core();
  detail::Block& block = core.memory().block();
  detail::BlockExport const other = core.memory();
  detail::Block::Exports const without = block.exports();
  std::vector<std::int64_t> at_close;
  auto const parts = [&] {
    std::shared_ptr<void const> held(
        &block, [&](void const*) { at_close.push_back(block.exports().writable - without.writable); });
    return detail::ViewParts{std::move(held), other, nullptr, nullptr};
  };
  detail::ViewParts moved_to = parts();
  moved_to = detail::ViewParts();
  detail::ViewParts copied_to = parts();
  detail::ViewParts const none;
  copied_to = none;
  EXPECT_THAT(at_close, ElementsAre(0, 0));
}

TEST_F(ArrayViewTest, TransposeKeepsTheHeldObject) {
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> const watched = held;
  ArrayView<double, 2, f_order> columns;
  {
    WriteLease const lease(array);
    Dense view(BufferView(lease).core());
    view.target().parts.held = std::move(held);
    columns = view.transpose();
  }
  EXPECT_FALSE(watched.expired());
  columns = {};
  EXPECT_TRUE(watched.expired());
}

TEST_F(ArrayViewTest, OrderOfEmptyAndSmallViews) {
  Strided const closed;
  EXPECT_FALSE(closed.transpose().is_open());
  EXPECT_TRUE(closed.is_contiguous() && closed.is_fortran_contiguous());

  double number = 7;
  auto const memory = std::make_shared<int>(0);
  auto const scalar = BufferView::from_memory(&number, {}, memory).as<double, 0, c_order>().transpose();
  EXPECT_EQ(scalar(), 7.0);
  EXPECT_TRUE(scalar.is_contiguous() && scalar.is_fortran_contiguous());

  ConstBufferView const view = array.view();
  auto const empty = view.slice(0, {.stop = 0}).slice(1, {.step = 2}).as<double const, 2>();
  EXPECT_TRUE(empty.is_contiguous() && empty.is_fortran_contiguous());
  EXPECT_EQ(empty.transpose().extent(0), 2);
  EXPECT_EQ(empty.transpose().extent(1), 0);
  EXPECT_EQ(empty.transpose().leading_dimension(), 2);
  EXPECT_EQ(empty.leading_dimension(), 1);

  auto const row = view.slice(0, {.stop = 1}).as<double const, 2>();
  EXPECT_TRUE(row.is_contiguous() && row.is_fortran_contiguous());
  auto const part = view.slice(1, {.step = 2}).as<double const, 2>();
  EXPECT_FALSE(part.is_contiguous() || part.is_fortran_contiguous());
}

TEST_F(ArrayViewTest, LeadingDimensionIsThatOfBlas) {
  ConstBufferView const view = array.view();  // 3 rows of 4
  auto const of = [](ConstBufferView const& columns) { return columns.as<double const, 2>().leading_dimension(); };
  EXPECT_EQ(of(view.transpose()), 4);
  EXPECT_EQ(of(view.transpose().slice(0, {.start = 1, .stop = 3})), 4) << "a block of columns";
  EXPECT_EQ(of(view.transpose().slice(1, {.step = 2})), 8) << "every second column";
  EXPECT_EQ(of(view.transpose().slice(1, {.stop = 1})), 4) << "one column has no distance";
  EXPECT_EQ(of(view.select(0, 0).insert(0).transpose()), 4) << "nor has a vector, with a stride of 0";
  EXPECT_EQ(of(view.slice(1, {.step = 2}).slice(0, {.stop = 1})), 2) << "columns of one element";
  EXPECT_EQ(of(view.slice(0, {.stop = 1}).slice(1, {.stop = 1})), 1);

  EXPECT_THAT(message_of<ValueError>([&] { of(view); }), HasSubstr("transpose() it if its rows are adjacent"));
  EXPECT_THROW(of(view.transpose().slice(0, {.step = 2})), ValueError) << "gaps in columns";
  EXPECT_THROW(of(view.transpose().slice(1, {.step = -1})), ValueError) << "columns in reverse";
  EXPECT_THROW(of(view.transpose().slice(1, {.stop = 1}).broadcast_to({4, 5})), ValueError) << "one column for all";
}

TEST_F(ArrayViewTest, EmptyViewWithNegativeStridesGivesAnMdspan) {
  ConstBufferView const flipped = array.view().slice(1, {.step = -1});
  EXPECT_THROW(static_cast<void>(flipped.as<double const, 2>().mdspan()), ValueError);
  auto const empty = flipped.slice(0, {.stop = 0}).as<double const, 2>();
  EXPECT_EQ(empty.mdspan().extent(1), 4);
  EXPECT_EQ(empty.mdspan().size(), 0U);
  EXPECT_EQ((flipped.slice(1, {.stop = 1}).slice(0, {.stop = 1}).as<double const, 2>().mdspan()(0, 0)), 3.0);
}

TEST_F(ArrayViewTest, ConvertsToALessSpecificType) {
  Dense const dense = [&] {
    WriteLease const lease(array);
    return BufferView(lease).as<double, 2, c_order>();
  }();
  Strided const wide = dense;
  EXPECT_EQ(wide.data(), dense.data());
  EXPECT_EQ(wide.stride(0), 4);
  EXPECT_EQ(wide(1, 2), 6.0);
}

TEST_F(ArrayViewTest, UntypedViewHasTheSameMemoryAndAccess) {
  auto const flipped = array.view().slice(0, {.step = -1}).as<double const, 2>();
  detail::ViewCore const core = flipped.core();
  EXPECT_THAT(core.layout().strides(), ElementsAre(-32, 8));
  EXPECT_EQ(core.data(), reinterpret_cast<std::byte const*>(flipped.data()));
  EXPECT_EQ(core.dtype(), dtype_of<double>());
  WriteLease const lease(array);
  ArrayView<double const, 2> const looks = BufferView(lease).as<double const, 2>();
  EXPECT_FALSE(looks.core().writable()) << "a read-only view is exported read-only";
}

TEST_F(ArrayViewTest, CopiesKeepTheMemoryAndTheHeldObjectAlive) {
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> const watched = held;
  Dense kept;
  {
    WriteLease const lease(array);
    Dense view(BufferView(lease).core());
    view.target().parts.held = std::move(held);
    kept = view;
  }
  array = MemArray<double, 2>({1, 1});
  EXPECT_FALSE(watched.expired());
  ArrayView<double, 2> wide = kept;
  kept = {};
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(wide(2, 3), 11.0);
  ArrayView<double, 2> const moved = std::move(wide);
  EXPECT_EQ(live_blocks(), 2) << "the old memory and the new";
  EXPECT_EQ(moved(0, 1), 1.0);
  detail::ViewCore const core = moved.core();
  EXPECT_EQ(watched.use_count(), 1) << "an untyped view holds nothing";
}

TEST_F(DeviceArrayTest, DefaultStreamOfAViewIsThatOfItsContext) {
  MemArray<double, 1> a({100});
  for (int const id : {1, 0}) {
    a.fill(3);
    a.move_memory(kDLCUDA, 0, id);
    {
      WriteLease const lease(a);
      auto const view = BufferView(lease).as<double, 1, on_device>();
      OnDevice const there = view.in_stream(default_stream());
      EXPECT_EQ(device_id_of(there.context()), id);
      auto const address = reinterpret_cast<cu::DevicePtr>(there.data());
      auto const clear = [&] { return driver()->cuMemsetD8Async(address, 0, 800, as_cu(there.stream())); };
      EXPECT_NE(clear(), 0);  // no context is current
      EnteredContext const entered(there.context(), "clearing");
      EXPECT_EQ(clear(), 0);
    }
    EXPECT_EQ(a({50}), 0.0);
  }
}

TEST_F(DeviceArrayTest, DeviceViewSubmitsWorkToItsStream) {
  MemArray<double, 1> a({100});
  a.move_memory(kDLCUDA, 0, 0);
  StreamHandle const stream = create_stream_handle(get_primary_context(0));
  sim.delay(std::chrono::milliseconds(20));
  double const five = 5;
  double const six = 6;
  {
    WriteLease const lease(a);
    auto const view = BufferView(lease).as<double, 1, on_device>();
    EXPECT_THROW(static_cast<void>(BufferView(lease).as<double, 1>()), BufferError);
    EXPECT_EQ(as_cu(view.stream()), as_cu(default_stream()));
    view.core().fill(&five);
    EXPECT_THROW(static_cast<void>(view.in_stream({})), ValueError);
    OnDevice const there = view.in_stream(stream);
    EXPECT_EQ(there.stream(), stream);
    there.core().fill(&six);
    EXPECT_EQ(there.transpose().stream(), stream);
  }
  EXPECT_EQ(a({50}), 6.0);
}

}  // namespace
}  // namespace memarray::test
