// C++ views of device memory: the stream they use, and their order with earlier and later work.

#include <memarray/detail/view/view_stream.hpp>

#include <memarray/base/errors.hpp>
#include <memarray/view/buffer_view.hpp>

#include <chrono>
#include <climits>
#include <cstring>
#include <utility>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

using namespace std::chrono_literals;

class ViewStreamTest : public DeviceArrayTest {
 protected:
  ViewStreamTest() {
    count_up(a);
    a.move_memory(kDLCUDA, 0, 0);
  }
  static double first(BufferView const& view) {
    double value = 0;
    view.core().read_element(&value);
    return value;
  }

  MemArray<double, 2> a{std::array<std::int64_t, 2>{4, 25}};
};

TEST_F(ViewStreamTest, ComputesOnTheDeviceOfTheMemory) {
  ReadLease<double, 2> const lease(a);
  ConstBufferView const view(lease);
  EXPECT_EQ(view.device(), (Device{kDLCUDA, 0}));
  EXPECT_EQ(view.memory_type(), MemoryType::device);
  BufferView const sum = view.sum();
  EXPECT_EQ(sum.device(), view.device());
  EXPECT_EQ(first(sum), 4950.0);
  int const axis = 0;
  BufferView const columns = view.sum({&axis, 1}).to_device(Device{});
  EXPECT_EQ((columns.as<double const, 1>()(3)), 3.0 + 28 + 53 + 78);
}

TEST_F(ViewStreamTest, TypedViewOfDeviceMemoryIsRefused) {
  WriteLease<double, 2> const lease(a);
  BufferView const view(lease);
  EXPECT_NE(message_of<BufferError>([&] { static_cast<void>(view.as<double, 2>()); }).find("to_device('cpu')"),
            std::string::npos);
}

TEST_F(ViewStreamTest, WorksInTheStreamOfItsLease) {
  StreamHandle const mine = create_stream_handle(get_primary_context(0));
  StreamHandle const other = create_stream_handle(get_primary_context(0));
  sim.delay(5ms);
  BufferView kept;
  {
    WriteLease<double, 2> const lease(a, {.stream = mine});
    kept = BufferView(lease);
    EXPECT_EQ(as_intptr(kept.core().stream()), as_intptr(mine));
    kept.fill(3.0);
    kept.add_index();
  }
  // The next use detaches the view with its contents, after the view's work.
  for_each_index(a, other, [](double& element, auto const& i) { element += static_cast<double>(i[0] + i[1]); });
  kept.fill(0.0);
  EXPECT_EQ(a({3, 24}), 3.0 + 2 * 27);
  EXPECT_EQ(first(kept.sum()), 0.0);
}

TEST_F(ViewStreamTest, StreamOfAnotherDeviceAndUnknownDevicesAreRefused) {
  BufferView const view(WriteLease<double, 2>{a});
  StreamHandle const elsewhere = create_stream_handle(get_primary_context(1));
  EXPECT_THROW(static_cast<void>(view.to_device({kDLCUDA, 0}, elsewhere)), ValueError);
  EXPECT_THROW(static_cast<void>(view.to_device({kDLCUDA, 9})), CudaError);
  EXPECT_THROW(static_cast<void>(view.to_device({kDLMetal, 0})), ValueError);
  EXPECT_EQ(first(view.slice(0, {.start = 1})), 25.0);
}

TEST_F(ViewStreamTest, EveryNumberOfTheCpuIsTheHost) {
  MemArray<double, 1> b({3});
  MemArray<double, 1> c({3});
  c.move_memory(kDLCUDA, 0, 0);
  BufferView const host(WriteLease{b});
  BufferView const device(WriteLease{c});
  for (int const id : {0, 1, 5, INT_MAX}) {
    EXPECT_EQ(host.to_device({kDLCPU, id}).core().data(), host.core().data());
    EXPECT_EQ(device.to_device({kDLCPU, id}).device(), Device{});
    a.move_memory(kDLCPU, 0, id);
    EXPECT_EQ(a.get_dlpack_device(), std::pair(kDLCPU, 0));
    a.move_memory(kDLCUDA, 0, 0);
    EXPECT_EQ(BufferView(WriteLease<double, 2>(a, {.device = Device{kDLCPU, id}})).device(), Device{});
  }
  for (int const id : {-1, INT_MIN}) {
    EXPECT_THROW(static_cast<void>(host.to_device({kDLCPU, id})), ValueError);
    EXPECT_THROW(static_cast<void>(host.to_device({kDLCUDA, id})), ValueError);
    EXPECT_THROW(static_cast<void>(device.to_device({kDLCPU, id})), ValueError);
    EXPECT_THROW(a.move_memory(kDLCPU, 0, id), ValueError);
    EXPECT_THROW((ReadLease<double, 2>(a, {.device = Device{kDLCPU, id}})), ValueError);
  }
  EXPECT_EQ(a.get_lock_id(), -1);
}

TEST_F(ViewStreamTest, ClosedLeaseHasNoStream) {
  detail::LeaseCore lease(a.state_ptr(), detail::LeaseCore::Kind::read, LeaseOptions{});
  lease.enter();
  detail::Block& block = lease.block();
  detail::StreamDependencies::Lease const stream_lease = lease.stream_lease();
  EXPECT_NE(stream_lease, 0U);
  EXPECT_NO_THROW(static_cast<void>(detail::view_stream(block, stream_lease)));
  lease.exit();
  EXPECT_THROW(static_cast<void>(detail::view_stream(block, stream_lease)), LockError);
}

TEST_F(ViewStreamTest, CopiesBetweenDevices) {
  BufferView const view(WriteLease<double, 2>{a});
  BufferView const part = view.slice(1, {.step = -3}).to_device({kDLCUDA, 1});
  EXPECT_EQ(part.device(), (Device{kDLCUDA, 1}));
  EXPECT_TRUE(part.is_contiguous());
  BufferView const back = part.to_device(Device{});
  EXPECT_EQ((back.as<double const, 2>()(2, 1)), 50.0 + 21);
  EXPECT_EQ(copied_bytes(), 800 + 4 * 9 * 8 * 3);
}

TEST_F(ViewStreamTest, FailedOperationLeavesTheMemoryUnchanged) {
  BufferView const view(WriteLease<double, 2>{a});
  sim.fail("cuLaunchKernel", 1, 700, 1);
  EXPECT_THROW(view.add_index(), CudaError);
  sim.fail("cuMemAllocAsync", 1, 2, 5);
  EXPECT_THROW(static_cast<void>(view.copy()), OutOfMemoryError);
  sim.clear();
  EXPECT_EQ(first(view.slice(0, {.start = 2}).slice(1, {.start = 2})), 52.0);
}

}  // namespace
}  // namespace memarray::test
