#include <memarray/base/errors.hpp>

#include <chrono>

#include "simulated_driver.hpp"

namespace memarray {
namespace {

class SimulatedInjection : public SimulatedDriver {};

TEST_F(SimulatedInjection, FailsTheNthCallAndEachLaterOne) {
  sim.fail("cuMemAlloc", 3, 2);
  auto const first = allocate(100);
  auto const second = allocate(100);
  cu::DevicePtr failed = 5;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cuda.cuMemAlloc(&failed, 100), 2);
  EXPECT_EQ(failed, 5U);
  EXPECT_EQ(sim.live().device_memory, 2);
  EXPECT_EQ(sim.calls("cuMemAlloc"), 5U);
  sim.clear();
  auto const third = allocate(100);
}

TEST_F(SimulatedInjection, FailsTheRequestedNumberOfCallsWithTheGivenCode) {
  sim.fail("cuStreamQuery", 1, 700, 2);
  EXPECT_EQ(cuda.cuStreamQuery(nullptr), 700);
  EXPECT_EQ(cuda.cuStreamQuery(nullptr), 700);
  EXPECT_OK(cuda.cuStreamQuery(nullptr));
  // Calls are counted from here.
  sim.fail("cuStreamQuery", 2, 999, 1);
  EXPECT_OK(cuda.cuStreamQuery(nullptr));
  EXPECT_EQ(cuda.cuStreamQuery(nullptr), 999);
  EXPECT_OK(cuda.cuStreamQuery(nullptr));
}

// Every function can be made to fail, with any arguments.
TEST_F(SimulatedInjection, AnyFunctionCanBeMadeToFail) {
  int value = 0;
  sim.fail("cuInit", 1, 3);
  EXPECT_EQ(cuda.cuInit(0), 3);
  sim.fail("cuDeviceGetCount", 1, 100);
  EXPECT_EQ(cuda.cuDeviceGetCount(&value), 100);
  EXPECT_EQ(device_count(), 0);
  sim.fail("cuMemFree", 1, 4);
  auto const memory = allocate(100);
  EXPECT_EQ(cuda.cuMemFree(memory), 4);
  EXPECT_EQ(sim.live().device_memory, 1);
  sim.clear();
}

TEST_F(SimulatedInjection, DroppedWaitHasNoEffect) {
  auto const writer = make_stream();
  auto const reader = make_stream();
  auto const event = make_event();
  Gate gate(cuda, writer);
  EXPECT_OK(cuda.cuEventRecord(event, writer));
  sim.drop("cuStreamWaitEvent");
  EXPECT_OK(cuda.cuStreamWaitEvent(reader, event, 0));
  EXPECT_OK(cuda.cuStreamSynchronize(reader));
  EXPECT_OK(cuda.cuStreamWaitEvent(reader, event, 0));
  EXPECT_EQ(cuda.cuStreamQuery(reader), 600);
  gate.open();
  EXPECT_OK(cuda.cuStreamSynchronize(reader));
}

TEST_F(SimulatedInjection, DroppedWorkIsNotDone) {
  auto const memory = allocate(100);
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 1, 100, nullptr));
  sim.drop("cuMemsetD8Async", 2, 2);
  for (unsigned char value = 2; value < 5; ++value) EXPECT_OK(cuda.cuMemsetD8Async(memory, value, 100, nullptr));
  EXPECT_EQ(read(memory, 100, nullptr), bytes_of(100, 2));
  EXPECT_EQ(sim.calls("cuMemsetD8Async"), 4U);
  Gate gate(cuda, nullptr);
  sim.drop("cuStreamSynchronize");
  EXPECT_OK(cuda.cuStreamSynchronize(nullptr));
  EXPECT_EQ(cuda.cuStreamQuery(nullptr), 600);
  gate.open();
}

TEST_F(SimulatedInjection, FunctionsWithOutputCannotBeDropped) {
  for (char const* const name :
       {"cuMemAlloc", "cuMemAllocAsync", "cuStreamCreateWithPriority", "cuEventCreate", "cuCtxCreate",
        "cuDevicePrimaryCtxRetain", "cuMemPoolCreate", "cuMemHostAlloc", "cuPointerGetAttribute", "cuDeviceGetName",
        "cuMemPoolGetAttribute", "cuEventElapsedTime", "cuGetErrorName", "cuCtxGetDevice"})
    EXPECT_THROW(sim.drop(name), ValueError) << name;
  for (char const* const name :
       {"cuStreamWaitEvent", "cuEventRecord", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync",
        "cuMemcpyPeerAsync", "cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize", "cuLaunchHostFunc",
        "cuMemFree", "cuMemFreeAsync", "cuMemFreeHost", "cuStreamDestroy", "cuMemPoolSetAttribute", "cuMemPoolTrimTo"})
    EXPECT_NO_THROW(sim.drop(name, 1000)) << name;
}

TEST_F(SimulatedInjection, InvalidArgumentsAreRefused) {
  EXPECT_THROW(sim.fail("cuMemAlloc_v2"), ValueError);
  EXPECT_THROW(sim.fail(""), ValueError);
  EXPECT_THROW(sim.drop("nonsense"), ValueError);
  EXPECT_THROW(static_cast<void>(sim.calls("nonsense")), ValueError);
  EXPECT_THROW(sim.fail("cuMemAlloc", 0), ValueError);
  EXPECT_THROW(sim.fail("cuMemAlloc", 1, 0), ValueError);
  EXPECT_THROW(sim.fail("cuMemAlloc", 1, 2, 0), ValueError);
  EXPECT_THROW(sim.drop("cuMemFree", 1, -2), ValueError);
  EXPECT_THROW(sim.delay(std::chrono::nanoseconds(-1)), ValueError);
}

TEST_F(SimulatedInjection, DelayMakesWorkTakeLonger) {
  // The work itself takes no time, so that the machine's speed does not matter.
  auto const time = [&] {
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i) EXPECT_OK(cuda.cuLaunchHostFunc(nullptr, [](void*) {}, nullptr));
    EXPECT_OK(cuda.cuStreamSynchronize(nullptr));
    return std::chrono::steady_clock::now() - begin;
  };
  sim.delay(std::chrono::milliseconds(300));
  EXPECT_GE(time(), std::chrono::milliseconds(900));
  sim.clear();
  EXPECT_LT(time(), std::chrono::milliseconds(900));
}

TEST_F(SimulatedInjection, CallsAreCounted) {
  std::uint64_t const before = sim.calls();
  EXPECT_OK(cuda.cuStreamQuery(nullptr));
  EXPECT_EQ(cuda.cuStreamQuery(reinterpret_cast<cu::Stream>(0x1230)), 400);
  expect_violation("cuStreamQuery");
  EXPECT_EQ(sim.calls("cuStreamQuery"), 2U);
  EXPECT_EQ(sim.calls(), before + 2);
  EXPECT_EQ(sim.calls("cuMemAlloc"), 0U);
}

}  // namespace
}  // namespace memarray
