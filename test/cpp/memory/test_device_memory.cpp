#include <memarray/base/errors.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/driver/last_error.hpp>

#include <thread>

#include "device_test.hpp"

namespace memarray::test {
namespace {

using detail::DeviceMemory;
using detail::DeviceMemoryPtr;

class DeviceMemoryTest : public DeviceTest {};

TEST_F(DeviceMemoryTest, IsUniquePerDevice) {
  EXPECT_EQ(DeviceMemory::of(0), DeviceMemory::of(0));
  EXPECT_NE(DeviceMemory::of(0), DeviceMemory::of(1));
  EXPECT_EQ(DeviceMemory::known(1), DeviceMemory::of(1));
  EXPECT_THROW(static_cast<void>(DeviceMemory::of(2)), CudaError);
  EXPECT_THROW(static_cast<void>(DeviceMemory::of(-1)), CudaError);
}

TEST_F(DeviceMemoryTest, KnownIsNullBeforeFirstUse) {
  testing::SimulatedDevices const inner;
  EXPECT_EQ(DeviceMemory::known(0), nullptr);
  EXPECT_EQ(inner.calls(), 0u);
}

TEST_F(DeviceMemoryTest, EventsAreReused) {
  DeviceMemoryPtr const memory = DeviceMemory::of(0);
  cu::Event const raw = *memory->event();
  EXPECT_EQ(*memory->event(), raw);
  EventHandle const one = memory->event();
  EventHandle const two = memory->event();
  EXPECT_NE(*one, *two);
  EXPECT_EQ(context_of(one), memory->context());
}

TEST_F(DeviceMemoryTest, FailedEventCreationReturnsNull) {
  sim.fail("cuEventCreate", 1, 2, 1);
  EXPECT_EQ(DeviceMemory::of(0)->event(), nullptr);
  EXPECT_EQ(get_last_error(), 2);
  EXPECT_NE(DeviceMemory::of(0)->event(), nullptr);
}

TEST_F(DeviceMemoryTest, StagingMemoryIsPinnedAndReused) {
  MemoryResource staging = DeviceMemory::of(0)->staging();
  EXPECT_EQ(staging.memory_type(), MemoryType::pinned);
  void* const pointer = staging.allocate(default_stream(), 5000);
  staging.deallocate(default_stream(), pointer, 5000);
  EXPECT_EQ(sim.live().pinned_memory, 1);
  EXPECT_EQ(staging.allocate(default_stream(), 5000), pointer);
  staging.deallocate(default_stream(), pointer, 5000);
}

TEST_F(DeviceMemoryTest, EndOfSimulatedDevicesDropsCachedResources) {
  DeviceMemoryPtr kept;
  {
    testing::SimulatedDevices inner;
    kept = DeviceMemory::of(0);
    static_cast<void>(kept->internal_stream());
    static_cast<void>(kept->event());
    EXPECT_EQ(inner.live().streams, 1);
    inner.end();
    EXPECT_EQ(inner.live().streams, 0);
    EXPECT_EQ(inner.live().events, 0);
    EXPECT_EQ(inner.live().contexts, 1);  // held by `kept`
    // `kept` still works, without keeping new resources.
    EXPECT_NE(kept->event(), nullptr);
    EXPECT_EQ(inner.live().events, 0);
    kept.reset();
    EXPECT_EQ(inner.live(), testing::LiveResources());
  }
}

TEST_F(DeviceMemoryTest, ConcurrentFirstCallsReturnTheSameObject) {
  testing::SimulatedDevices const inner;
  std::vector<DeviceMemoryPtr> got(4);
  std::vector<std::thread> threads;
  for (DeviceMemoryPtr& each : got) threads.emplace_back([&] { each = DeviceMemory::of(1); });
  for (std::thread& thread : threads) thread.join();
  for (DeviceMemoryPtr const& each : got) EXPECT_EQ(each, got.front());
}

TEST_F(DeviceMemoryTest, PeerAccessIsEnabledOnce) {
  EXPECT_TRUE(DeviceMemory::of(0)->reaches(*DeviceMemory::of(1)));
  std::uint64_t const calls = sim.calls();
  EXPECT_TRUE(DeviceMemory::of(0)->reaches(*DeviceMemory::of(1)));
  EXPECT_TRUE(DeviceMemory::of(0)->reaches(*DeviceMemory::of(0)));
  EXPECT_EQ(sim.calls(), calls);
}

TEST_F(DeviceMemoryTest, DoesNotReachAPeerWithoutPeerAccess) {
  testing::SimulatedDevices const inner({.peer_access = false});
  EXPECT_FALSE(DeviceMemory::of(0)->reaches(*DeviceMemory::of(1)));
}

TEST_F(DeviceMemoryTest, WithoutPoolsPeerAccessIsEnabledBetweenContexts) {
  testing::SimulatedDevices const inner({.pools = false});
  EXPECT_TRUE(DeviceMemory::of(0)->reaches(*DeviceMemory::of(1)));
  EXPECT_EQ(inner.calls("cuCtxEnablePeerAccess"), 1u);
}

}  // namespace
}  // namespace memarray::test
