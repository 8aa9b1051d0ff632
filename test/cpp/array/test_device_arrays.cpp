// Arrays on simulated devices, from C++.

#include <chrono>
#include <numeric>
#include <thread>

#include "array_test.hpp"

namespace memarray {
namespace {

using test::contents;
using test::count_up;

using test::DeviceArrayTest;

StreamHandle make_stream(int device = 0) { return create_stream_handle(get_primary_context(device)); }

TEST_F(DeviceArrayTest, ElementAccessLeavesArrayOnDevice) {
  MemArray<float, 2> a({3, 4});
  count_up(a);
  a.move_memory(kDLCUDA, 0, 0);
  EXPECT_EQ(a({2, 1}), 9);
  a.write({2, 1}, 50);
  EXPECT_EQ(a({2, 1}), 50);
  EXPECT_TRUE(a.get_on_device());
  a.move_memory(kDLCPU, 0, 0);
  EXPECT_EQ(a({2, 1}), 50);
  EXPECT_EQ(a({2, 2}), 10);
}

TEST_F(DeviceArrayTest, WorkOnTensorCountsAsLeaseWorkUntilLeaseCloses) {
  MemArray<int, 1> a({100});
  a.move_memory(kDLCUDA, 0, 0, -1, false);
  StreamHandle const stream = make_stream();
  DLPackTensor tensor;
  auto const nines_later = [&](int value) {
    auto* const elements = static_cast<int*>(testing::detail::reachable(tensor.tensor().data));
    detail::launch_emulated(detail::bind_stream(stream, get_primary_context(0)), [=] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      for (int i = 0; i < 100; ++i) elements[i] = value;
    });
  };
  {
    WriteLease<int, 1> const lease(a, {.stream = stream});
    tensor = a.get_dlpack_tensor(true, lease.lock_id());
    nines_later(9);
  }
  EXPECT_EQ(a({5}), 9);
  nines_later(8);  // an escaped view, used in a stream that the library does not know
  a.write({5}, 7);
  EXPECT_EQ(a({5}), 7);
  EXPECT_EQ(a({6}), 9);
}

TEST_F(DeviceArrayTest, KernelRunsInGivenStream) {
  MemArray<double, 2> a({20, 3});
  MemArray<double, 1> sums({20});
  count_up(a);
  a.move_memory(kDLCUDA, 0, 1);
  StreamHandle const stream = make_stream(1);
  EXPECT_THROW(
      for_each_index({20}, stream, [](auto const&, auto const&, auto const&) {}, read(a), overwrite(sums)), Error);
  sums.move_memory(kDLCUDA, 0, 1);
  for_each_index(
      {20}, stream,
      [](auto const& i, auto const& from, auto const& to) {
        double const* const row = from.get(3 * i[0]);
        *to.get(i[0]) = row[0] + row[1] + row[2];
      },
      read(a), overwrite(sums));
  EXPECT_EQ(sum(sums, default_stream()), sum(a, stream));
  sums.move_memory(kDLCPU, 0, 0);
  EXPECT_EQ(sums({3}), 9 + 10 + 11);
}

TEST_F(DeviceArrayTest, WorkUnderLeasesIsOrderedAcrossStreams) {
  MemArray<int, 1> a({1000});
  a.move_memory(kDLCUDA, 0, 0);
  StreamHandle const first = make_stream();
  StreamHandle const second = make_stream();
  sim.delay(std::chrono::milliseconds(1));
  for (int step = 0; step < 4; ++step) {
    WriteLease<int, 1> const lease(a, {.stream = step % 2 == 0 ? first : second});
    for_each_index(
        a, step % 2 == 0 ? second : first, [](int& element, auto const&) { element = 2 * element + 1; },
        lease.lock_id());
  }
  sim.delay({});
  a.move_memory(kDLCPU, 0, 0, -1, false);
  EXPECT_EQ(a({999}), 15);
}

TEST_F(DeviceArrayTest, LeaseWithoutPendingWorkMakesNoDriverCalls) {
  MemArray<int, 1> a({10});
  a.move_memory(kDLCUDA, 0, 0, -1, false);
  std::uint64_t const before = sim.calls();
  {
    ReadLease<int, 1> const lease(a);
    WriteLease<int, 1> const none = [&] {
      MemArray<int, 1> host({3});
      return WriteLease<int, 1>(host);
    }();
  }
  {
    WriteLease<int, 1> const lease(a);
  }
  EXPECT_EQ(sim.calls(), before);
}

TEST_F(DeviceArrayTest, FailedLaunchLeavesArrayUnchanged) {
  MemArray<int, 1> a({10});
  count_up(a);
  a.move_memory(kDLCUDA, 0, 0);
  StreamHandle const other = make_stream(1);
  EXPECT_THROW(for_each_index(a, other, [](int&, auto const&) {}), ValueError);
  EXPECT_EQ(a.get_lock_id(), -1);
  EXPECT_EQ(a({7}), 7);
}

TEST_F(DeviceArrayTest, CopiesAndExchangesStayOnTheDevice) {
  MemArray<int, 1> a({10});
  count_up(a);
  a.move_memory(kDLCUDA, 0, 1);
  MemArray<int, 1> b(a);
  EXPECT_EQ(b.get_device_id(), 1);
  b.fill(3);
  a.exchange(b);
  EXPECT_EQ(a({9}), 3);
  EXPECT_EQ(b({9}), 9);
  a.resize({12});
  EXPECT_EQ(a({9}), 3);
  EXPECT_EQ(a({11}), 0);
  EXPECT_TRUE(a.get_on_device());
}

}  // namespace
}  // namespace memarray
