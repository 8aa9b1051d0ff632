// Compiled with a CCCL that may be newer than the toolkit's. Runs on simulated devices.
#include "driver/simulated_driver.hpp"  // first: the toolkit's headers rename driver functions

#include <memarray/cuda_mr.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/memory/default_resource.hpp>
#include <memarray/memory/limiting_adaptor.hpp>
#include <memarray/memory/pageable_resource.hpp>
#include <memarray/memory/statistics_adaptor.hpp>

#include <cstring>
#include <memory>
#include <thread>
#include <type_traits>

namespace memarray::test {
namespace {

using cuda::mr::device_accessible;
using cuda::mr::host_accessible;
using OnHost = CudaResource<host_accessible>;
using OnDevice = CudaResource<device_accessible>;
using OnBoth = CudaResource<host_accessible, device_accessible>;

static_assert(cuda::mr::resource<OnHost> && cuda::mr::resource<OnDevice> && cuda::mr::resource<OnBoth>);
static_assert(cuda::mr::resource_with<OnBoth, host_accessible, device_accessible>);
static_assert(!cuda::mr::resource_with<OnHost, device_accessible>, "only the declared properties");
static_assert(!cuda::mr::resource_with<OnDevice, host_accessible>);
static_assert(!cuda::mr::resource<MemoryResource>, "its streams are not cuda::stream_ref, so a wrapper is needed");
static_assert(noexcept(std::declval<OnDevice&>().deallocate(std::declval<cuda::stream_ref>(), nullptr, 0)));
static_assert(noexcept(std::declval<OnDevice&>().deallocate_sync(nullptr, 0)));
static_assert(std::is_nothrow_move_constructible_v<OnDevice>);
static_assert(!IsMemoryResource<OnDevice>, "its streams are cuda::stream_ref, not StreamHandle");

cuda::stream_ref cuda_stream(StreamHandle const& stream) { return cuda::stream_ref(as_cu(stream)); }

class CudaResourceTest : public ::testing::Test {
 protected:
  ~CudaResourceTest() override {
    stream.reset();
    context.reset();
    EXPECT_EQ(devices.live(), testing::LiveResources()) << ::testing::PrintToString(devices.live_resources());
    EXPECT_TRUE(devices.violations().empty()) << devices.violations().front();
  }

  testing::SimulatedDevices devices;
  ContextHandle context = get_primary_context(0);
  StreamHandle stream = create_stream_handle(context);
};

TEST_F(CudaResourceTest, AllocatesFromEveryResource) {
  StatisticsAdaptor const counted{DriverResource::of_device(0)};
  LimitingAdaptor const limited{counted, 1 << 20};
  OnHost hosts[] = {OnHost(PageableResource()), OnHost(host_resource()), OnHost(DriverResource::pinned(context)),
                    OnHost(DriverResource::managed(context))};
  for (OnHost& resource : hosts) {
    void* const pointer = resource.allocate(cuda_stream(stream), 1000, 64);
    std::memset(pointer, 1, 1000);
    resource.deallocate(cuda_stream(stream), pointer, 1000, 64);
  }
  OnDevice on_devices[] = {OnDevice(DriverResource::of_device(0)), OnDevice(DriverResource::device(context)),
                           OnDevice(DriverResource::managed(context)), OnDevice(DriverResource::pinned(context)),
                           OnDevice(MemoryResource(limited), context)};
  for (OnDevice& resource : on_devices) {
    void* const pointer = resource.allocate(cuda_stream(stream), 1000, 256);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 256, 0u);
    resource.deallocate(cuda_stream(stream), pointer, 1000, 256);
  }
  EXPECT_EQ(counted.statistics().allocations, 1u);
}

TEST_F(CudaResourceTest, AllocationAndDeallocationAreStreamOrdered) {
  OnDevice resource(DriverResource::of_device(0));
  DriverTable const& table = *devices.table();
  detail::ContextScope const scope(context);
  void* const pointer = resource.allocate(cuda_stream(stream), 64);
  auto const address = reinterpret_cast<cu::DevicePtr>(pointer);
  Gate gate(table, as_cu(stream));
  EXPECT_OK(table.cuMemsetD8Async(address, 3, 64, as_cu(stream)));
  resource.deallocate(cuda_stream(stream), pointer, 64);
  EXPECT_OK(table.cuStreamQuery(as_cu(stream)) == 600 ? 0 : 1) << "the stream did not wait for the gate";
  gate.open();
  EXPECT_TRUE(synchronize(stream, context));
}

TEST_F(CudaResourceTest, DefaultStreamsBelongToTheMemorysDevice) {
  OnDevice resource(DriverResource::of_device(1));
  for (std::uintptr_t const number : {0, 1, 2}) {
    cuda::stream_ref const named(reinterpret_cast<cudaStream_t>(number));
    resource.deallocate(named, resource.allocate(named, 64), 64);
  }
}

TEST_F(CudaResourceTest, SyncAllocationIsUsableInEveryStream) {
  OnDevice resource(DriverResource::of_device(0));
  devices.delay(std::chrono::milliseconds(5));
  void* const pointer = resource.allocate_sync(64);
  detail::ContextScope const scope(context);
  // This stream did not wait for another. Using the memory before its allocation would be a violation.
  EXPECT_OK(devices.table()->cuMemsetD8Async(reinterpret_cast<cu::DevicePtr>(pointer), 1, 64, as_cu(stream)));
  EXPECT_TRUE(synchronize(stream, context));
  resource.deallocate_sync(pointer, 64);
}

TEST_F(CudaResourceTest, PinnedMemoryIsFreedAfterTheStreamsWork) {
  OnBoth resource(DriverResource::pinned(context));
  void* const pointer = resource.allocate(cuda_stream(stream), 1 << 20);
  detail::ContextScope const scope(context);
  Gate gate(*devices.table(), as_cu(stream));
  EXPECT_OK(devices.table()->cuMemsetD8Async(reinterpret_cast<cu::DevicePtr>(pointer), 1, 1 << 20, as_cu(stream)));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  resource.deallocate(cuda_stream(stream), pointer, 1 << 20);  // otherwise freed under pending work
  opener.join();
}

TEST_F(CudaResourceTest, PropertiesThatTheMemoryLacksAreRefused) {
  EXPECT_THROW(OnDevice{PageableResource()}, ValueError);
  EXPECT_THROW(OnBoth{PageableResource()}, ValueError);
  EXPECT_THROW(OnHost{DriverResource::of_device(0)}, ValueError);
  EXPECT_THROW(OnBoth{DriverResource::device(context)}, ValueError);
  EXPECT_THROW(OnHost{MemoryResource()}, ValueError);
  EXPECT_THROW(OnDevice{MemoryResource(DriverResource::of_device(0))}, ValueError) << "no context names the device";
}

TEST_F(CudaResourceTest, FailuresThrowMemarrayExceptions) {
  OnDevice resource(DriverResource::of_device(0));
  EXPECT_THROW(static_cast<void>(resource.allocate(cuda_stream(stream), std::size_t{1} << 40)), OutOfMemoryError);
  devices.fail("cuStreamGetCtx", 1, 400, 1);
  EXPECT_THROW(static_cast<void>(resource.allocate(cuda_stream(stream), 64)), CudaError);
  devices.fail("cuStreamSynchronize", 1, 719, 1);
  EXPECT_THROW(static_cast<void>(resource.allocate_sync(64)), CudaError);
  EXPECT_EQ(devices.live().device_memory, 0);
  devices.fail("cuStreamCreateWithPriority", 1, 2, 1);
  EXPECT_THROW(OnDevice{DriverResource::of_device(0)}, OutOfMemoryError);
}

TEST_F(CudaResourceTest, DeallocationInAStreamWithoutContextWaitsForTheDevice) {
  OnDevice resource(DriverResource::of_device(0));
  void* const pointer = resource.allocate(cuda_stream(stream), 64);
  {
    detail::ContextScope const scope(context);
    devices.delay(std::chrono::milliseconds(20));
    EXPECT_OK(devices.table()->cuMemsetD8Async(reinterpret_cast<cu::DevicePtr>(pointer), 1, 64, as_cu(stream)));
  }
  devices.fail("cuStreamGetCtx", 1, 400, 1);
  resource.deallocate(cuda_stream(stream), pointer, 64);
  EXPECT_EQ(devices.live().device_memory, 0);
}

TEST_F(CudaResourceTest, CopiesAreEqualAndShareTheResource) {
  OnDevice const one(DriverResource::of_device(0));
  OnDevice copy = one;
  EXPECT_EQ(copy, one);
  EXPECT_FALSE(OnDevice(DriverResource::of_device(0)) == one);
  void* const pointer = copy.allocate_sync(64);
  OnDevice moved = std::move(copy);
  moved.deallocate_sync(pointer, 64);
}

#if CCCL_VERSION >= 3002000
TEST_F(CudaResourceTest, ConvertsToTypeErasedCcclResources) {
  OnDevice resource(DriverResource::of_device(0));
  cuda::mr::resource_ref<device_accessible> borrowed(resource);
  borrowed.deallocate(cuda_stream(stream), borrowed.allocate(cuda_stream(stream), 64, 64), 64, 64);
  cuda::mr::any_resource<device_accessible> owner(resource);
  owner.deallocate_sync(owner.allocate_sync(64, 64), 64, 64);
}
#endif

TEST(CudaResourceWithoutADriverTest, HostMemoryIsAllocated) {
  OnHost resource{host_resource()};
  cuda::stream_ref const none(cudaStream_t{});
  void* const pointer = resource.allocate(none, 10'000);
  std::memset(pointer, 1, 10'000);
  resource.deallocate(none, pointer, 10'000);
  resource.deallocate_sync(resource.allocate_sync(100), 100);
}

}  // namespace
}  // namespace memarray::test
