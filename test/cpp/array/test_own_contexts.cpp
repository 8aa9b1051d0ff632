// Arrays of one device, used in streams of a context that the program owns, beside the primary context.

#include <memarray/driver/stream_order.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "array_test.hpp"

namespace memarray {
namespace {

using namespace std::chrono_literals;

class OwnContextsTest : public test::DeviceArrayTest {
 protected:
  static constexpr std::int64_t length = 100;

  OwnContextsTest() {
    a.emplace(std::array<std::int64_t, 1>{length});
    a->move_memory(kDLCUDA, 0, 0, -1, false);
    sim.delay(3ms);
  }

  /// Doubles each element and adds `more`.
  void step(StreamHandle const& stream, int more, std::int64_t lock_id = -1) {
    for_each_index(*a, stream, [more](int& element, auto const&) { element = 2 * element + more; }, lock_id);
  }
  void expect_everywhere(int value) {
    sim.delay({});
    a->move_memory(kDLCPU, 0, 0, -1, false);
    EXPECT_EQ(test::contents(*a), std::vector<int>(length, value));
  }

  ContextHandle primary = get_primary_context(0);
  ContextHandle own = create_context_handle(0);
  StreamHandle in_primary = create_stream_handle(primary);
  StreamHandle in_own = create_stream_handle(own);
  std::optional<MemArray<int, 1>> a;
};

TEST_F(OwnContextsTest, OwnContextDiffersFromPrimary) {
  EXPECT_NE(as_cu(own), as_cu(primary));
  EXPECT_EQ(device_id_of(own), 0);
  EXPECT_EQ(as_cu(context_of(in_own)), as_cu(own));
}

TEST_F(OwnContextsTest, KernelsAreOrderedAcrossContexts) {
  int expected = 0;
  for (int i = 1; i < 5; ++i) {
    step(i % 2 == 0 ? in_primary : in_own, i);
    expected = 2 * expected + i;
  }
  step(default_stream(), 7);
  step(in_own, 8);
  expect_everywhere(2 * (2 * expected + 7) + 8);
}

TEST_F(OwnContextsTest, KernelInBorrowedStreamIsOrdered) {
  // The library queries the driver for the stream's context.
  StreamHandle const borrowed = create_stream_handle_ref(as_cu(in_own));
  step(in_primary, 1);
  step(borrowed, 2);
  step(in_primary, 3);
  expect_everywhere(2 * (2 * 1 + 2) + 3);
}

TEST_F(OwnContextsTest, KernelsOverSeveralArraysAndSumsAreOrdered) {
  MemArray<int, 1> sums({length});
  sums.move_memory(kDLCUDA, 0, 0);
  step(in_primary, 5);
  for_each_index(
      {length}, in_own, [](auto const& i, auto const& from, auto const& to) { *to.get(i[0]) = *from.get(i[0]) + 1; },
      read(*a), overwrite(sums));
  step(in_primary, 1);
  EXPECT_EQ(sum(sums, in_primary), 6 * length);
  EXPECT_EQ(sum(*a, in_own), 11 * length);
  EXPECT_EQ(exclusive_scan(*a, sums, in_own), 11 * length);
  EXPECT_EQ(sums({2}), 22);
}

TEST_F(OwnContextsTest, ElementAccessFillsAndMovesAreOrdered) {
  step(in_own, 5);
  EXPECT_EQ((*a)({9}), 5);
  step(in_own, 5);
  a->write({9}, 1);
  step(in_own, 5);
  EXPECT_EQ((*a)({9}), 7);
  EXPECT_EQ((*a)({8}), 35);
  step(in_own, 0);
  a->fill(3);
  step(in_own, 1);
  a->move_memory(kDLCUDA, as_intptr(in_own), 1);
  EXPECT_EQ(a->get_device_id(), 1);
  a->move_memory(kDLCUDA, as_intptr(in_own), 0);
  step(in_own, 1);
  a->move_memory(kDLCPU, as_intptr(in_own), 0);
  EXPECT_EQ((*a)({0}), 15);
  a->move_memory(kDLCUDA, as_intptr(in_own), 0);
  step(in_primary, 1);
  expect_everywhere(31);
}

TEST_F(OwnContextsTest, WorkUnderLeaseIsOrderedAcrossContexts) {
  step(in_primary, 1);
  {
    WriteLease<int, 1> const lease(*a, {.stream = in_own});
    step(in_primary, 2, lease.lock_id());
    step(in_own, 3, lease.lock_id());
    auto* const elements = static_cast<int*>(testing::detail::reachable(lease.ptr()));
    detail::launch_emulated(detail::bind_stream(in_own, own), [elements] {
      for (int i = 0; i < length; ++i) elements[i] += 100;
    });
  }
  step(in_primary, 4);
  expect_everywhere(2 * (2 * (2 * 1 + 2) + 3 + 100) + 4);
}

TEST_F(OwnContextsTest, NextWriterWaitsForReaderInOtherContext) {
  step(in_primary, 1);
  std::vector<int> seen(length);
  {
    ReadLease<int, 1> const lease(*a, {.stream = in_own});
    auto const* const elements = static_cast<int const*>(testing::detail::reachable(lease.ptr()));
    detail::launch_emulated(detail::bind_stream(in_own, own), [elements, &seen] {
      std::this_thread::sleep_for(10ms);
      seen.assign(elements, elements + length);
    });
  }
  step(in_primary, 5);
  expect_everywhere(7);
  EXPECT_EQ(seen, std::vector<int>(length, 1));
}

TEST_F(OwnContextsTest, ExportToConsumerStreamInOwnContextIsOrdered) {
  detail::LeaseCore lease(a->state_ptr(), detail::LeaseCore::Kind::write, {.stream = in_primary});
  step(in_primary, 1);
  lease.enter();
  DLPackTensor const tensor(detail::export_versioned(lease, {.stream = &in_own}));
  auto* const elements = static_cast<int*>(testing::detail::reachable(tensor.tensor().data));
  auto const consume = [&] {
    detail::launch_emulated(detail::bind_stream(in_own, own), [elements] {
      std::this_thread::sleep_for(5ms);
      for (int i = 0; i < length; ++i) elements[i] = 2 * elements[i] + 10;
    });
  };
  consume();
  step(in_primary, 3, lease.lock_id());
  consume();
  EXPECT_EQ((*a)({5}, lease.lock_id()), 2 * (2 * 12 + 3) + 10);
  consume();
  lease.exit();
  step(in_primary, 4);
  expect_everywhere(2 * (2 * 64 + 10) + 4);
}

TEST_F(OwnContextsTest, ContextMayBeReleasedBeforeArray) {
  step(in_own, 1);
  in_own = {};
  own = {};
  step(in_primary, 2);
  expect_everywhere(4);
}

TEST_F(OwnContextsTest, BorrowedContextMayBeDestroyedAfterItsWorkCompletes) {
  MemArray<int, 1> array({100});
  ContextHandle const own_context = create_context_handle(0);
  StreamHandle const its = create_stream_handle(own_context);
  array.move_memory(kDLCUDA, as_intptr(its), 0);
  EXPECT_EQ(array({1}), 0);
  for_each_index(array, create_stream_handle_ref(as_cu(its)), [](int& element, auto const&) { ++element; });
  EXPECT_EQ(array({1}), 1);
  ASSERT_TRUE(synchronize(its, own_context));
  // The stream and context handles are released before the array.
}

TEST_F(OwnContextsTest, StreamOfContextOnOtherDeviceIsRefused) {
  ContextHandle const elsewhere = create_context_handle(1);
  StreamHandle const stream = create_stream_handle(elsewhere);
  EXPECT_THROW(step(stream, 1), ValueError);
  step(in_own, 1);
  expect_everywhere(1);
}

}  // namespace
}  // namespace memarray
