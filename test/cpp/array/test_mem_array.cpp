#include <memarray/array/mem_array.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda/std/array>

#include "array_test.hpp"

struct Spin {
  double up = 0.5;
  double down = -0.5;
};
MEMARRAY_DTYPE(Spin);

namespace memarray::test {
namespace {

using Array = MemArray<double, 2>;

static_assert(std::is_nothrow_move_constructible_v<Array>);
static_assert(std::is_nothrow_move_assignable_v<Array>);
static_assert(std::is_nothrow_swappable_v<Array>);
static_assert(sizeof(Array) == sizeof(void*));
static_assert(Array::NDIM == 2);
static_assert(std::is_same_v<Array::ArrayIndexer, ArrayIndexer<double, 2>>);
static_assert(!std::is_convertible_v<std::array<std::int64_t, 2>, Array>);

class MemArrayTest : public ArrayTest {};

TEST_F(MemArrayTest, AcceptsShapeAndIndicesInManyForms) {
  std::int64_t const n = 3;
  EXPECT_EQ(Array({n, 4}).get_size(), 12);
  EXPECT_EQ(Array({3, 4}).get_size(), 12);
  EXPECT_EQ(Array(std::array<int, 2>{3, 4}).get_size(), 12);
  EXPECT_EQ(Array(std::array<std::size_t, 2>{3, 4}).get_size(), 12);
  EXPECT_EQ(Array(cuda::std::array<std::int16_t, 2>{3, 4}).get_size(), 12);
  EXPECT_EQ(Array(std::array<std::int64_t, 2>{3, 4}).get_shape(), (std::array<std::int64_t, 2>{3, 4}));
  EXPECT_EQ((MemArray<std::int8_t, 1>({5}).get_size()), 5);
  EXPECT_EQ((MemArray<std::int8_t, 6>({1, 2, 3, 1, 2, 3}).get_size()), 36);
  Array array({3, 4});
  array.resize({1, 2});
  array.resize(cuda::std::array<int, 2>{2, 2});
  EXPECT_EQ(array(std::array<int, 2>{1, 1}), 0);
  EXPECT_EQ(array(cuda::std::array<std::int64_t, 2>{1, 1}), 0);
  array.write(cuda::std::array<int, 2>{1, 1}, 5);
  EXPECT_EQ(array({1, 1}), 5);
}

TEST_F(MemArrayTest, ElementsAreDefaultConstructedUnlessUninitialized) {
  MemArray<Spin, 2> spins({3, 300});
  for (std::int64_t i = 0; i < spins.get_size(); ++i) ASSERT_EQ(spins.get_indexer().get(i)->down, -0.5);
  Array const zeros({100, 100});
  for (double const element : contents(zeros)) ASSERT_EQ(element, 0);
  FailingResource::Control memory;
  Array const raw({2, 2}, 0, {.uninitialized = true, .resource = FailingResource(memory)});
  EXPECT_EQ(memory.asked, 1);
}

TEST_F(MemArrayTest, SizesAreCheckedBeforeAnythingIsAllocated) {
  constexpr std::int64_t big = std::int64_t{1} << 31;
  EXPECT_EQ(Array({0, big * big / 4}).get_size(), 0);
  EXPECT_THROW(Array({big, big * 2}), OverflowError);
  EXPECT_THROW((MemArray<double, 3>({big, big, 4})), OverflowError);
  EXPECT_THROW((MemArray<double, 1>({std::numeric_limits<std::int64_t>::max()})), OverflowError);
  EXPECT_THROW((MemArray<double, 1>({std::numeric_limits<std::int64_t>::max() / 8 + 1})), OverflowError);
  EXPECT_THROW((MemArray<double, 3>({0, big * big, 8})), OverflowError) << "its strides overflow";
  EXPECT_THROW(Array({-1, 4}), ValueError);
  EXPECT_THROW(Array({-1, 0}), ValueError);
  EXPECT_THROW(Array({-1, -1}), ValueError);
  EXPECT_THROW(Array({1, 1}, -1), ValueError);
  EXPECT_THROW((MemArray<std::int8_t, 1>({std::int64_t{1} << 62})), OutOfMemoryError);
}

TEST_F(MemArrayTest, KeepsDeviceIdInCopies) {
  EXPECT_EQ(Array({1, 1}).get_device_id(), 0);
  Array const array({1, 1}, 3);
  EXPECT_EQ(array.get_device_id(), 3);
  EXPECT_FALSE(array.get_on_device());
  EXPECT_EQ(array.get_dlpack_device(), std::pair(kDLCPU, std::int32_t{0}));
  EXPECT_EQ(Array(array).get_device_id(), 3);
}

TEST_F(MemArrayTest, CopyIsDeepAndUnlocked) {
  Array original({3, 4});
  count_up(original);
  ReadLease const lease(original);
  Array copy(original);
  EXPECT_EQ(copy.state().lock().word().load(), detail::LockWord::free);
  EXPECT_NE(memory_of(copy), memory_of(original));
  EXPECT_EQ(contents(copy), contents(original));
  copy.fill(0);
  EXPECT_EQ(original({2, 3}), 11);
  Array assigned({1, 1});
  assigned = original;
  EXPECT_EQ(contents(assigned), contents(original));
  Array& itself = assigned;
  assigned = itself;
  EXPECT_EQ(contents(assigned), contents(original));
}

TEST_F(MemArrayTest, MoveKeepsMemoryAddress) {
  Array first({3, 4});
  count_up(first);
  std::byte const* const memory = memory_of(first);
  Array second = std::move(first);
  EXPECT_EQ(memory_of(second), memory);
  Array third({1, 1});
  third = std::move(second);
  EXPECT_EQ(memory_of(third), memory);
  Array& itself = third;
  third = std::move(itself);
  EXPECT_EQ(memory_of(third), memory) << "moved onto itself";
  EXPECT_EQ(third({2, 3}), 11);
}

TEST_F(MemArrayTest, UseOfMovedFromArrayIsRefused) {
  Array from({3, 4});
  Array const to = std::move(from);
  // NOLINTBEGIN(bugprone-use-after-move): that is what is tested
  std::vector<std::function<void()>> const uses = {
      [&] { static_cast<void>(from.get_shape()); },
      [&] { static_cast<void>(from.get_size()); },
      [&] { static_cast<void>(from.get_device_id()); },
      [&] { static_cast<void>(from.get_on_device()); },
      [&] { static_cast<void>(from.get_lock_id()); },
      [&] { static_cast<void>(from.escaped_views()); },
      [&] { from.escaped_views(EscapedViews::alias); },
      [&] { from.throw_invalid_lock_access(-1); },
      [&] { static_cast<void>(from({0, 0})); },
      [&] { from.write({0, 0}, 1); },
      [&] { from.fill(1); },
      [&] { static_cast<void>(from.ptr()); },
      [&] { static_cast<void>(std::as_const(from).ptr()); },
      [&] { static_cast<void>(from.get_indexer()); },
      [&] { static_cast<void>(from.host_view()); },
      [&] { static_cast<void>(from.device_view()); },
      [&] { from.resize({1, 1}); },
      [&] { from.move_memory(kDLCPU, 0, 0); },
      [&] { from.enter(1); },
      [&] { static_cast<void>(from.get_dlpack_tensor(true)); },
      [&] { static_cast<void>(from.get_dlpack_device()); },
      [&] { Array const copy(from); },
      [&] { Array({3, 4}).exchange(from); },
      [&] { from.exchange(from); },
      [&] { ReadLease const lease(from); },
      [&] { WriteLease const lease(from); },
      [&] { static_cast<void>(sum(from, default_stream())); },
      [&] { for_each_index(from, default_stream(), [](double&, auto const&) {}); },
      [&] { add_index_tuple(from); },
  };
  for (auto const& use : uses) EXPECT_NE(message_of<Error>(use).find("moved from"), std::string::npos);
  from.exit();
  from = to;
  EXPECT_EQ(from.get_size(), 12);
  // NOLINTEND(bugprone-use-after-move)
}

TEST_F(MemArrayTest, SwapSwapsStatesAndExchangeSwapsContents) {
  Array a({3, 4}, 1);
  Array b({2, 2}, 2);
  a.fill(1);
  b.fill(2);
  detail::ArrayState* const state = &a.state();
  std::byte const* const memory = memory_of(a);
  swap(a, b);
  EXPECT_EQ(&b.state(), state);
  EXPECT_EQ(b.get_size(), 12);
  a.exchange(b);
  EXPECT_EQ(&b.state(), state) << "names and Python objects stay with their array";
  EXPECT_EQ(memory_of(a), memory);
  EXPECT_EQ(a.get_shape(), (std::array<std::int64_t, 2>{3, 4}));
  EXPECT_EQ(a.get_device_id(), 1);
  EXPECT_EQ(b({1, 1}), 2);
  a.exchange(a);
  EXPECT_EQ(a({2, 3}), 1);
}

TEST_F(MemArrayTest, ExchangeIsRefusedAndChangesNothingWhileEitherIsLeased) {
  Array a({3, 4});
  Array b({2, 2});
  a.fill(1);
  b.fill(2);
  for (Array* const held : {&a, &b}) {
    ReadLease const lease(*held);
    EXPECT_THROW(a.exchange(b), LockError);
    EXPECT_THROW(b.exchange(a), LockError);
    EXPECT_EQ(a({2, 3}), 1);
    EXPECT_EQ(b({1, 1}), 2);
  }
  EXPECT_EQ(a.state().lock().word().load(), detail::LockWord::free);
  EXPECT_EQ(b.state().lock().word().load(), detail::LockWord::free);
}

TEST_F(MemArrayTest, ResizeKeepsLeadingElementsAndInitializesRest) {
  Array array({2, 3});
  count_up(array);
  array.resize({4, 3});
  EXPECT_EQ(contents(array), (std::vector<double>{0, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0}));
  array.resize({1, 4});
  EXPECT_EQ(contents(array), (std::vector<double>{0, 1, 2, 3}));
  array.resize({0, 4});
  EXPECT_EQ(array.get_size(), 0);
  array.resize({2, 2});
  EXPECT_EQ(contents(array), (std::vector<double>{0, 0, 0, 0}));
  MemArray<Spin, 1> spins({2});
  spins.fill({7, 7});
  spins.resize({4});
  EXPECT_EQ(spins({1}).up, 7);
  EXPECT_EQ(spins({2}).up, 0.5);
  EXPECT_EQ(spins({3}).down, -0.5);
}

TEST_F(MemArrayTest, ResizeTakesFreshMemory) {
  Array array({2, 3});
  View<double> const view = escaped_read_only(array);
  std::byte const* const memory = memory_of(array);
  array.resize({2, 3});
  EXPECT_NE(memory_of(array), memory);
  EXPECT_EQ(copies(), 0) << "it was asked for";
}

TEST_F(MemArrayTest, FillAcceptsElementOfSameArray) {
  Array array({300, 1000});
  count_up(array);
  array.fill(std::as_const(array).ptr()[77]);
  for (double const element : contents(array)) ASSERT_EQ(element, 77);
  MemArray<Spin, 1> spins({2000});
  spins.write({3}, {1, 2});
  spins.fill(std::as_const(spins).ptr()[3]);
  EXPECT_EQ(spins({1999}).down, 2);
}

TEST_F(MemArrayTest, HostViewIsMdspanAndDeviceViewIsRefusedOnHost) {
  Array array({3, 4});
  array.host_view()(1, 2) = 9;
  EXPECT_EQ(array({1, 2}), 9);
  EXPECT_EQ(std::as_const(array).host_view()(1, 2), 9);
  EXPECT_EQ(array.host_view().extent(1), 4);
  EXPECT_NE(message_of<Error>([&] { static_cast<void>(array.device_view()); }).find("move_memory"), std::string::npos);
  EXPECT_THROW(static_cast<void>(std::as_const(array).device_view()), Error);
}

TEST_F(MemArrayTest, FailedAllocationLeavesArrayUnchanged) {
  FailingResource::Control memory;
  {
    Array array({3, 4}, 0, {.resource = FailingResource(memory)});
    count_up(array);
    auto const before = contents(array);
    Array other({3, 4}, 0, {.resource = FailingResource(memory)});
    other.fill(5);
    std::vector<std::function<void()>> const operations = {
        [&] { array.resize({5, 5}); },
        [&] { Array const copy(array); },
        [&] { other = array; },
        [&] { array.fill(1); },
        [&] { array.write({0, 0}, 1); },
        [&] { static_cast<void>(array.ptr()); },
        [&] { array.enter(1); },
        [&] { static_cast<void>(WriteLease(array)); },
        [&] { static_cast<void>(leases(write(other), overwrite(array))); },
        [&] { for_each_index(array, default_stream(), [](double& e, auto const&) { e = 1; }); },
        [&] { static_cast<void>(exclusive_scan(other, array, default_stream())); },
        [&] { add_index_tuple(array); },
    };
    for (bool const writable : {false, true})
      for (auto const& operation : operations) {
        View<double> const view = writable ? escaped_writable(array) : escaped_read_only(array);
        memory.until_failure = 0;
        EXPECT_THROW(operation(), OutOfMemoryError);
        memory.until_failure = -1;
        EXPECT_EQ(contents(array), before);
        EXPECT_EQ(array.get_shape(), (std::array<std::int64_t, 2>{3, 4}));
        EXPECT_EQ(other({2, 3}), 5);
        EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
        EXPECT_EQ(other.state().lock().word().load(), detail::LockWord::free);
      }
    View<double> const view = escaped_writable(array);
    memory.until_failure = 0;
    EXPECT_THROW(static_cast<void>(array({0, 0})), OutOfMemoryError);
    EXPECT_THROW(ReadLease{array}, OutOfMemoryError);
    EXPECT_THROW(array.exchange(other), OutOfMemoryError);
    EXPECT_THROW(other.exchange(array), OutOfMemoryError);
    EXPECT_EQ(contents(array), before);
    EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
    EXPECT_EQ(other.state().lock().word().load(), detail::LockWord::free);
    EXPECT_THROW(Array({3, 4}, 0, {.resource = FailingResource(memory)}), OutOfMemoryError);
  }
  EXPECT_EQ(memory.live, 0);
  EXPECT_EQ(copies(), 0);
}

TEST_F(MemArrayTest, EmptyResourceIsRefused) {
  EXPECT_THROW(Array({1, 1}, 0, {.resource = MemoryResource()}), ValueError);
}

TEST_F(MemArrayTest, StateCanBeTakenOnlyOnce) {
  Array array({2, 2});
  array.write({1, 1}, 4);
  detail::ArrayStatePtr state = array.take_state();
  EXPECT_THROW(static_cast<void>(array.take_state()), Error);
  EXPECT_THROW(array.fill(1), Error);
  Array const same = Array::share(std::move(state));
  EXPECT_EQ(same({1, 1}), 4);
  EXPECT_EQ(live_blocks(), 1);
}

TEST_F(MemArrayTest, SeveralObjectsMayShareAState) {
  Array array({2, 2});
  Array same = Array::share(array.state_ptr());
  same.write({1, 1}, 4);
  EXPECT_EQ(array({1, 1}), 4);
  ReadLease const lease(same);
  EXPECT_THROW(array.fill(1), LockError);
  array = Array({1, 1});
  EXPECT_EQ(same({1, 1}), 4);
}

}  // namespace
}  // namespace memarray::test
