#include <cstdint>

#include "simulated_driver.hpp"

namespace memarray {
namespace {

class SimulatedContexts : public SimulatedDriver {};

TEST_F(SimulatedContexts, PrimaryContextsAreReferenceCounted) {
  cu::Context again = nullptr;
  EXPECT_OK(cuda.cuDevicePrimaryCtxRetain(&again, 0));
  EXPECT_EQ(again, context);
  EXPECT_EQ(sim.live().contexts, 2);
  EXPECT_OK(cuda.cuDevicePrimaryCtxRelease(0));
  EXPECT_EQ(sim.live().contexts, 1);
  EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease(1), 201);
  expect_violation("not retained");
  EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&again, 2), 101);
  EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&again, -1), 101);
  EXPECT_EQ(cuda.cuCtxDestroy(context), 201);
  expect_violation("released, not destroyed");
}

TEST_F(SimulatedContexts, FormAStackPerThread) {
  cu::Context const made = make_context(1).release();
  cu::Context now = nullptr;
  EXPECT_OK(cuda.cuCtxGetCurrent(&now));
  EXPECT_EQ(now, made);
  cu::Device device = -1;
  EXPECT_OK(cuda.cuCtxGetDevice(&device));
  EXPECT_EQ(device, 1);
  std::thread([&] {
    cu::Context here = context;
    EXPECT_OK(cuda.cuCtxGetCurrent(&here));
    EXPECT_EQ(here, nullptr);
    EXPECT_EQ(cuda.cuCtxPopCurrent(&here), 201);
    EXPECT_EQ(cuda.cuCtxGetDevice(&device), 201);
    EXPECT_EQ(cuda.cuCtxSynchronize(), 201);
  }).join();
  EXPECT_OK(cuda.cuCtxPushCurrent(context));
  EXPECT_OK(cuda.cuCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
  EXPECT_OK(cuda.cuCtxPopCurrent(&now));
  EXPECT_EQ(now, context);
  EXPECT_OK(cuda.cuCtxDestroy(made));
  // The destroyed context was current and no longer is.
  EXPECT_OK(cuda.cuCtxGetCurrent(&now));
  EXPECT_EQ(now, context);
  EXPECT_EQ(cuda.cuCtxPushCurrent(made), 201);
  expect_violation("cuCtxPushCurrent: context");
  EXPECT_EQ(cuda.cuCtxDestroy(made), 201);
  expect_violation("destroyed");
}

TEST_F(SimulatedContexts, DestroyedContextInvalidatesItsStreamsEventsAndMemory) {
  cu::Context const made = make_context(1).release();
  cu::Stream const stream = make_stream().release();
  cu::Event const event = make_event().release();
  cu::DevicePtr const memory = allocate(1000).release();
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 1, 1000, stream));
  EXPECT_OK(cuda.cuCtxDestroy(made));
  expect_violation("destroyed before 1 stream(s)");
  expect_violation("destroyed before 1 event(s)");
  expect_violation("destroyed before 1 allocation(s)");
  EXPECT_EQ(cuda.cuStreamDestroy(stream), 400);
  expect_violation("cuStreamDestroy");
  EXPECT_EQ(cuda.cuEventDestroy(event), 400);
  expect_violation("cuEventDestroy");
  EXPECT_EQ(cuda.cuMemFree(memory), 1);
  expect_violation("double free");
}

TEST_F(SimulatedContexts, UseAfterDestructionByAnotherThreadIsAViolation) {
  cu::Context const made = make_context(1).release();
  std::thread([&] { EXPECT_OK(cuda.cuCtxDestroy(made)); }).join();
  EXPECT_EQ(cuda.cuCtxSynchronize(), 709);
  expect_violation("the current context");
  cu::Context popped = nullptr;
  EXPECT_OK(cuda.cuCtxPopCurrent(&popped));
  EXPECT_EQ(popped, made);
}

TEST_F(SimulatedContexts, SynchronizeOnlyTheirOwnWork) {
  auto const other = make_context(0);
  auto const stream = make_stream();
  Gate gate(cuda, stream);
  EXPECT_OK(cuda.cuCtxPushCurrent(context));
  EXPECT_OK(cuda.cuCtxSynchronize());
  EXPECT_EQ(cuda.cuStreamQuery(stream), 600);
  cu::Context popped = nullptr;
  EXPECT_OK(cuda.cuCtxPopCurrent(&popped));
  gate.open();
  EXPECT_OK(cuda.cuCtxSynchronize());
  EXPECT_OK(cuda.cuStreamQuery(stream));
}

TEST_F(SimulatedContexts, PeerAccessCanBeEnabledOnce) {
  int can = 0;
  EXPECT_OK(cuda.cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  cu::Context other = nullptr;
  EXPECT_OK(cuda.cuDevicePrimaryCtxRetain(&other, 1));
  EXPECT_EQ(cuda.cuCtxEnablePeerAccess(context, 0), 101);
  EXPECT_OK(cuda.cuCtxEnablePeerAccess(other, 0));
  EXPECT_EQ(cuda.cuCtxEnablePeerAccess(other, 0), 704);
  EXPECT_OK(cuda.cuDevicePrimaryCtxRelease(1));
}

class SimulatedWithoutPeers : public SimulatedDriver {
 protected:
  SimulatedWithoutPeers() : SimulatedDriver({.peer_access = false}) {}
};

TEST_F(SimulatedWithoutPeers, AccessIsRefused) {
  int can = 1;
  EXPECT_OK(cuda.cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 0);
  cu::Context other = nullptr;
  EXPECT_OK(cuda.cuDevicePrimaryCtxRetain(&other, 1));
  EXPECT_EQ(cuda.cuCtxEnablePeerAccess(other, 0), 217);
  EXPECT_OK(cuda.cuDevicePrimaryCtxRelease(1));
}

}  // namespace
}  // namespace memarray
