#include <memarray/base/errors.hpp>
#include <memarray/driver/device_ptr_handle.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/stream_order.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulated_driver.hpp"

namespace memarray {
namespace {

constexpr cu::Result launch_failed = 719;

void throw_it(void* words) { throw std::runtime_error(static_cast<char const*>(words)); }

/// A fixture for kernels that throw, in the primary context of device 0.
class SimulatedKernels : public SimulatedDriver {
 protected:
  void launch_failing(cu::Stream stream, char const* words = "row 7 is negative") {
    EXPECT_OK(cuda.launch_simulated(stream, throw_it, const_cast<char*>(words)));
  }
  void fail_context(cu::Stream stream = nullptr) {
    launch_failing(stream);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), launch_failed);
    expect_violation("a kernel threw: row 7 is negative");
  }
};

TEST_F(SimulatedKernels, ExceptionIsAViolationAndFailsTheNextWait) {
  auto const stream = make_stream();
  Gate gate(cuda, stream);
  launch_failing(stream);  // the failure is not visible yet
  EXPECT_EQ(cuda.cuStreamQuery(stream), 600);
  gate.open();
  EXPECT_EQ(cuda.cuStreamSynchronize(stream), launch_failed);
  expect_violation("a kernel threw: row 7 is negative");
}

TEST_F(SimulatedKernels, TheViolationSaysWhereTheKernelWasLaunched) {
  testing::detail::set_allocation_site("simulation.py:12");
  launch_failing(nullptr);
  testing::detail::set_allocation_site(nullptr);
  EXPECT_EQ(cuda.cuCtxSynchronize(), launch_failed);
  expect_violation("a kernel threw: row 7 is negative, launched at simulation.py:12");
}

TEST_F(SimulatedKernels, ThrowingANonExceptionIsAViolation) {
  EXPECT_OK(cuda.launch_simulated(nullptr, [](void*) { throw 3; }, nullptr));
  EXPECT_EQ(cuda.cuStreamSynchronize(nullptr), launch_failed);
  expect_violation("a kernel threw: an exception that is not a std::exception");
}

TEST_F(SimulatedKernels, MisalignedElementsAreAViolationAndFailTheNextWait) {
  constexpr cu::Result misaligned_address = 716;
  alignas(16) static std::byte memory[32];
  testing::detail::check_load(memory + 8, 16);  // outside a kernel
  cu::HostFunction const kernel = [](void* data) {
    testing::detail::check_load(data, 16);
    *static_cast<std::byte*>(data) = std::byte{1};
  };
  EXPECT_OK(cuda.launch_simulated(nullptr, kernel, memory));
  EXPECT_OK(cuda.cuStreamSynchronize(nullptr));
  EXPECT_OK(cuda.launch_simulated(nullptr, kernel, memory + 8));
  EXPECT_EQ(cuda.cuStreamSynchronize(nullptr), misaligned_address);
  expect_violation("a kernel was given elements aligned to 16 bytes at an address that is 8 bytes past a multiple");
  EXPECT_EQ(memory[0], std::byte{1});
  EXPECT_EQ(memory[8], std::byte{0});
}

TEST_F(SimulatedKernels, OnlyReleasesSucceedAfterAKernelFailed) {
  cu::Stream const stream = make_stream().release();
  cu::Event const event = make_event().release();
  cu::Event const other_event = make_event().release();
  EXPECT_OK(cuda.cuEventRecord(event, stream));
  EXPECT_OK(cuda.cuEventRecord(other_event, stream));
  cu::DevicePtr const plain = allocate(64).release();
  cu::DevicePtr const pooled = allocate(64, stream).release();
  cu::DevicePtr const managed = allocate_managed(64).release();
  unsigned char* const pinned = pin(64).release();
  fail_context(stream);

  std::vector<unsigned char> host(64);
  cu::DevicePtr pointer = 0;
  void* host_pointer = nullptr;
  cu::Stream new_stream = nullptr;
  cu::Event new_event = nullptr;
  float milliseconds = 0;
  cu::MemoryPool pool = nullptr;
  EXPECT_OK(cuda.cuDeviceGetDefaultMemPool(&pool, 0));
  auto const nothing = [](void*) {};
  EXPECT_EQ(cuda.cuStreamSynchronize(stream), launch_failed);
  EXPECT_EQ(cuda.cuStreamQuery(stream), launch_failed);
  EXPECT_EQ(cuda.cuStreamQuery(nullptr), launch_failed) << "another stream of the context";
  EXPECT_EQ(cuda.cuStreamWaitEvent(stream, event, 0), launch_failed);
  EXPECT_EQ(cuda.cuCtxSynchronize(), launch_failed);
  EXPECT_EQ(cuda.cuEventRecord(event, stream), launch_failed);
  EXPECT_EQ(cuda.cuEventQuery(event), launch_failed);
  EXPECT_EQ(cuda.cuEventSynchronize(event), launch_failed);
  EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, event, other_event), launch_failed);
  EXPECT_EQ(cuda.cuMemcpyHtoDAsync(plain, host.data(), 64, stream), launch_failed);
  EXPECT_EQ(cuda.cuMemcpyDtoHAsync(host.data(), plain, 64, stream), launch_failed);
  EXPECT_EQ(cuda.cuMemcpyDtoDAsync(plain, pooled, 64, stream), launch_failed);
  EXPECT_EQ(cuda.cuMemcpyPeerAsync(plain, context, pooled, context, 64, stream), launch_failed);
  EXPECT_EQ(cuda.cuMemsetD8Async(plain, 1, 64, stream), launch_failed);
  EXPECT_EQ(cuda.cuLaunchHostFunc(stream, nothing, nullptr), launch_failed);
  EXPECT_EQ(cuda.launch_simulated(stream, nothing, nullptr), launch_failed);
  EXPECT_EQ(cuda.cuStreamCreateWithPriority(&new_stream, 1, 0), launch_failed);
  EXPECT_EQ(cuda.cuEventCreate(&new_event, 0), launch_failed);
  EXPECT_EQ(cuda.cuMemAlloc(&pointer, 64), launch_failed);
  EXPECT_EQ(cuda.cuMemAllocManaged(&pointer, 64, 1), launch_failed);
  EXPECT_EQ(cuda.cuMemHostAlloc(&host_pointer, 64, 0), launch_failed);
  EXPECT_EQ(cuda.cuMemAllocAsync(&pointer, 64, stream), launch_failed);
  EXPECT_EQ(cuda.cuMemAllocFromPoolAsync(&pointer, 64, pool, stream), launch_failed);

  EXPECT_OK(cuda.cuMemFree(plain));
  EXPECT_OK(cuda.cuMemFreeAsync(pooled, stream));
  EXPECT_OK(cuda.cuMemFree(managed));
  EXPECT_OK(cuda.cuMemFreeHost(pinned));
  EXPECT_OK(cuda.cuEventDestroy(event));
  EXPECT_OK(cuda.cuEventDestroy(other_event));
  EXPECT_OK(cuda.cuStreamDestroy(stream));
}

TEST_F(SimulatedKernels, BlockingCopyReturnsTheEarlierKernelsError) {
  auto const stream = make_stream();
  auto const memory = allocate(64);
  std::vector<unsigned char> host(64);
  Gate gate(cuda, stream);
  launch_failing(stream);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  EXPECT_EQ(cuda.cuMemcpyDtoHAsync(host.data(), memory, 64, stream), launch_failed);
  opener.join();
  expect_violation("a kernel threw");
}

// A launch releases its captured objects: a throwing kernel as it unwinds, later work as it ends.
TEST_F(SimulatedKernels, WorkSubmittedBeforeTheFailureStillRuns) {
  auto const stream = make_stream();
  auto const held = std::make_shared<int>(0);
  struct Launch {
    std::shared_ptr<int> held;
    bool throws;
  };
  auto const run = [](void* data) {
    std::unique_ptr<Launch> const launch(static_cast<Launch*>(data));
    if (launch->throws) throw std::runtime_error("first");
  };
  Gate gate(cuda, stream);
  for (bool const throws : {true, false, true}) EXPECT_OK(cuda.launch_simulated(stream, run, new Launch{held, throws}));
  gate.open();
  EXPECT_EQ(cuda.cuStreamSynchronize(stream), launch_failed);
  EXPECT_EQ(held.use_count(), 1);
  expect_violation("a kernel threw: first");
  expect_violation("a kernel threw: first");
}

TEST_F(SimulatedKernels, OtherContextsKeepWorking) {
  auto const other = make_context(0);
  auto const there = make_stream();
  auto const recorded_there = make_event();
  cu::Context popped = nullptr;
  EXPECT_OK(cuda.cuCtxPopCurrent(&popped));
  auto const recorded_here = make_event();
  EXPECT_OK(cuda.cuEventRecord(recorded_here, nullptr));
  fail_context();
  EXPECT_OK(cuda.cuEventRecord(recorded_there, there));
  EXPECT_OK(cuda.cuStreamWaitEvent(there, recorded_there, 0));
  EXPECT_OK(cuda.cuStreamSynchronize(there));
  EXPECT_EQ(cuda.cuStreamWaitEvent(there, recorded_here, 0), launch_failed) << "it comes after what has failed";
}

TEST_F(SimulatedKernels, PrimaryContextWorksAgainAfterItsLastRelease) {
  cu::Context again = nullptr;
  EXPECT_OK(cuda.cuDevicePrimaryCtxRetain(&again, 0));
  fail_context();
  EXPECT_OK(cuda.cuDevicePrimaryCtxRelease(0));
  EXPECT_EQ(cuda.cuCtxSynchronize(), launch_failed) << "it is still retained";
  cu::Context popped = nullptr;
  EXPECT_OK(cuda.cuCtxPopCurrent(&popped));
  EXPECT_OK(cuda.cuDevicePrimaryCtxRelease(0));
  ASSERT_OK(cuda.cuDevicePrimaryCtxRetain(&context, 0));
  ASSERT_OK(cuda.cuCtxPushCurrent(context));
  EXPECT_OK(cuda.cuCtxSynchronize());
  EXPECT_OK(cuda.launch_simulated(nullptr, [](void*) {}, nullptr));
  EXPECT_OK(cuda.cuStreamSynchronize(nullptr));
}

TEST_F(SimulatedKernels, HandlesFailWithTheErrorAndAreReleased) {
  {
    ContextHandle const handle = get_primary_context(0);
    StreamHandle const stream = create_stream_handle(handle);
    EventHandle const event = create_event_handle(handle);
    MemoryPoolHandle const pool = create_memory_pool_handle(0);
    DevicePtrHandle const pooled = allocate_from_pool(pool, stream, 64);
    DevicePtrHandle const pinned = allocate_pinned(handle, 64);
    launch_failing(as_cu(stream));
    ASSERT_TRUE(record(event, stream));
    ASSERT_TRUE(free_after(pooled, event));
    ASSERT_TRUE(free_after(pinned, event));
    EXPECT_FALSE(synchronize(event));
    try {
      throw_last_error("waiting");
    } catch (CudaError const& error) {
      EXPECT_EQ(error.code(), launch_failed);
      EXPECT_EQ(error.name(), "CUDA_ERROR_LAUNCH_FAILED");
    }
    EXPECT_FALSE(synchronize(stream, handle));
    EXPECT_FALSE(create_stream_handle(handle));
    EXPECT_EQ(get_last_error(), launch_failed);
  }
  expect_violation("a kernel threw");
}

TEST_F(SimulatedKernels, SeveralKernelsMayFailAtOnce) {
  std::vector<Scoped<cu::Stream>> streams;
  for (int i = 0; i < 8; ++i) streams.push_back(make_stream());
  std::vector<std::unique_ptr<Gate>> gates;
  for (cu::Stream const stream : streams) {
    gates.push_back(std::make_unique<Gate>(cuda, stream));
    launch_failing(stream);
  }
  for (auto const& gate : gates) gate->open();
  EXPECT_EQ(cuda.cuCtxSynchronize(), launch_failed);
  for (std::size_t i = 0; i < streams.size(); ++i) expect_violation("a kernel threw");
}

}  // namespace
}  // namespace memarray
