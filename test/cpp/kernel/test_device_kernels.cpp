// Operations that kernels on simulated devices may perform: use of views of the device's side, scans, atomic additions.

#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "strided/device_kernels_test.hpp"

namespace memarray {
namespace {

using namespace std::chrono_literals;

using test::DeviceKernelsTest;

TEST_F(DeviceKernelsTest, KernelsCanUseAViewOfTheDeviceSide) {
  MemArray<int, 1> sums({10});
  sums.move_memory(kDLCUDA, 0, 0);
  // Kernels reach device memory at a different address than the one that programs see.
  auto const seen = std::as_const(*a).device_view();
  decltype(seen) view(static_cast<int const*>(testing::detail::reachable(seen.data_handle())), seen.mapping());
  for_each_index(
      {10}, stream,
      [view](auto const& i, auto const& to) {
        for (int j = 0; j < view.extent(1); ++j) *to.get(i[0]) += view(i[0], j);
      },
      write(sums));
  std::vector<int> expected(10);
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 20; ++j) expected[static_cast<std::size_t>(i)] += (20 * i + j) % 100;
  EXPECT_EQ(on_host(sums), expected);
}

TEST_F(DeviceKernelsTest, ViewOfAStaleSideIsRefused) {
  EXPECT_EQ(a->device_view().extent(1), 20);
  EXPECT_THROW(static_cast<void>(a->host_view()), Error) << "the device's side may have been written";
  a->move_memory(kDLCPU, 0, 0, -1, false);
  EXPECT_EQ(a->host_view()(1, 3), 23);
  EXPECT_THROW(static_cast<void>(a->device_view()), Error) << "the host's side may have been written";
  WriteLease<int, 2> const lease(*a);
  EXPECT_THROW(static_cast<void>(a->host_view()), LockError);
  EXPECT_EQ(a->host_view(lease.lock_id())(9, 0), 80);
}

TEST_F(DeviceKernelsTest, ViewOfAValidButNotCurrentSideIsRefused) {
  // Both sides are valid.
  EXPECT_THROW(static_cast<void>(a->host_view()), Error);
  EXPECT_THROW(static_cast<void>(std::as_const(*a).host_view()), Error);
  auto const there = std::as_const(*a).device_view().data_handle();
  EXPECT_NE(testing::detail::reachable(there), there);
  a->move_memory(kDLCPU, 0, 0, -1, false);
  EXPECT_THROW(static_cast<void>(a->device_view()), Error);
  EXPECT_THROW(static_cast<void>(std::as_const(*a).device_view()), Error);
  auto const here = std::as_const(*a).host_view().data_handle();
  EXPECT_EQ(testing::detail::reachable(here), here);
}

TEST_F(DeviceKernelsTest, NextOperationWaitsForAScanOrSumWhoseWaitFailed) {
  MemArray<int, 2> sums({10, 20});
  sums.fill(2);
  sums.move_memory(kDLCUDA, 0, 0, -1, false);
  detail::BoundStream const bound_stream = detail::bind_stream(stream, get_primary_context(0));
  auto const late = [&] { detail::launch_emulated(bound_stream, [] { std::this_thread::sleep_for(20ms); }); };
  // The wait for the result, and each wait before the scratch memory is released: nothing but the arrays' pending work
  // orders the next operation.
  auto const fail_all_waits = [&] {
    sim.fail("cuStreamSynchronize", 1, 999, 2);
    sim.fail("cuCtxSynchronize", 1, 999);
  };
  late();
  fail_all_waits();
  EXPECT_THROW(exclusive_scan(*a, sums, stream), CudaError);
  EXPECT_EQ(sums.get_lock_id(), -1);
  int const last = sums({9, 19});
  sim.clear();
  EXPECT_EQ(last, sum(*a, stream) - (*a)({9, 19})) << "it ran on, and the next operation waited";
  late();
  fail_all_waits();
  EXPECT_THROW(static_cast<void>(sum(*a, stream)), CudaError);
  a->fill(0);  // ordered after the pending reads
  sim.clear();
  EXPECT_EQ(sum(*a, stream), 0);
}

TEST_F(DeviceKernelsTest, KernelOnTheHostWaitsForAPendingCopy) {
  for_each_index(*a, stream, [](int& element, auto const&) { element += 1; });  // the host's side is stale
  sim.delay(20ms);
  a->move_memory(kDLCPU, 0, 0, -1, true);
  int const total =
      transform_reduce({10, 20}, stream, 0, plus{}, [](auto const& i, auto const& x) { return x[i]; }, read(*a));
  sim.delay({});
  EXPECT_EQ(total, 2 * 4950 + 200);
}

TEST_F(DeviceKernelsTest, ScanIsOrderedWithEarlierAndLaterWork) {
  MemArray<int, 2> sums({10, 20});
  sums.move_memory(kDLCUDA, 0, 0);
  sim.delay(5ms);
  for_each_index(*a, stream, [](int& element, auto const&) { element += 1; });
  for_each_index(sums, stream, [](int& element, auto const&) { element = -1; });
  StreamHandle const other = create_stream_handle(get_primary_context(0));
  EXPECT_EQ(exclusive_scan(*a, sums, other), 2 * 4950 + 200);
  // Later work in any stream is ordered after the scan.
  for_each_index(sums, stream, [](int& element, auto const&) { element += 1; });
  sim.delay({});
  std::vector<int> const seen = on_host(sums);
  int running = 1;
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(seen[static_cast<std::size_t>(i)], running) << i;
    running += i % 100 + 1;
  }
  EXPECT_THROW(exclusive_scan(*a, sums, stream), Error) << "on two sides";
  EXPECT_EQ(sums.get_lock_id(), -1);
}

TEST_F(DeviceKernelsTest, ScanOfSeveralPiecesIsCorrect) {
  std::int64_t const length = 3 * detail::scan_piece + 5;
  MemArray<std::int64_t, 1> ones({length});
  MemArray<std::int64_t, 1> sums({length});
  ones.fill(1);
  ones.move_memory(kDLCUDA, 0, 0);
  sums.move_memory(kDLCUDA, 0, 0);
  EXPECT_EQ(exclusive_scan(ones, sums, stream), length);
  EXPECT_EQ(sums({length - 1}), length - 1);
  EXPECT_EQ(sums({detail::scan_piece}), detail::scan_piece);
}

TEST_F(DeviceKernelsTest, AtomicAddsFromSeveralStreamsLoseNothing) {
  MemArray<std::int64_t, 1> bins({2});
  bins.move_memory(kDLCUDA, 0, 0);
  sim.delay(1ms);
  StreamHandle const other = create_stream_handle(get_primary_context(0));
  for (StreamHandle const& in : {stream, other, default_stream()})
    for_each_index(
        {200}, in,
        [](auto const& i, auto const& from, auto const& to) {
          atomic_add(*to.get(i[0] % 2), static_cast<std::int64_t>(*from.get(i[0])));
        },
        read(*a), write(bins));
  sim.delay({});
  EXPECT_EQ(on_host(bins), (std::vector<std::int64_t>{3 * 4900, 3 * 5000}));
}

}  // namespace
}  // namespace memarray
