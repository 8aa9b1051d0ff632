#include <cstdint>

#include "simulated_driver.hpp"

namespace memarray {
namespace {

enum Attribute { release_threshold = 4, reserved = 5, reserved_high = 6, used = 7, used_high = 8 };

class SimulatedPools : public SimulatedDriver {
 protected:
  SimulatedPools() : SimulatedDriver({.count = 2, .memory = std::size_t{1} << 20}) {}

  Scoped<cu::MemoryPool> make_pool(std::size_t max_size = 0) {
    cu::MemoryPoolProperties properties;
    properties.max_size = max_size;
    cu::MemoryPool made = nullptr;
    EXPECT_OK(cuda.cuMemPoolCreate(&made, &properties));
    return {made, cuda.cuMemPoolDestroy};
  }
  Scoped<cu::DevicePtr> from(cu::MemoryPool source, std::size_t bytes, cu::Stream stream) {
    cu::DevicePtr pointer = 0;
    EXPECT_OK(cuda.cuMemAllocFromPoolAsync(&pointer, bytes, source, stream));
    return free_in(stream, pointer);
  }
  std::uint64_t get(int attribute) {
    std::uint64_t value = 0;
    EXPECT_OK(cuda.cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
  }
  void keep(std::uint64_t bytes) { EXPECT_OK(cuda.cuMemPoolSetAttribute(pool, release_threshold, &bytes)); }
  std::size_t free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_OK(cuda.cuMemGetInfo(&free, &total));
    return free;
  }

  Scoped<cu::MemoryPool> pool = make_pool();
  Scoped<cu::Stream> one = make_stream();
  Scoped<cu::Stream> two = make_stream();
};

TEST_F(SimulatedPools, SameStreamReusesFreedMemoryAtOnce) {
  Gate const gate(cuda, one);
  cu::DevicePtr const first = from(pool, 1000, one).release();
  EXPECT_OK(cuda.cuMemFreeAsync(first, one));
  auto const second = from(pool, 1000, one);
  EXPECT_EQ(second, first);
  EXPECT_OK(cuda.cuMemsetD8Async(second, 5, 1000, one));
}

TEST_F(SimulatedPools, OtherStreamReusesMemoryAfterTheFreeCompletes) {
  keep(1 << 20);
  cu::DevicePtr const first = from(pool, 1000, one).release();
  {
    Gate const gate(cuda, one);
    EXPECT_OK(cuda.cuMemFreeAsync(first, one));
    auto const second = from(pool, 1000, two);
    EXPECT_NE(second, first);
  }
  EXPECT_OK(cuda.cuStreamSynchronize(one));
  auto const third = from(pool, 1000, two);
  EXPECT_EQ(third, first);
  // The new allocation has none of the old contents.
  EXPECT_EQ(read(third, 1000, two), bytes_of(1000, 0xCD));
}

TEST_F(SimulatedPools, KeepsMemoryUpToTheReleaseThreshold) {
  cu::DevicePtr first = from(pool, 4096, one).release();
  EXPECT_EQ(get(reserved), 4096U);
  EXPECT_EQ(get(used), 4096U);
  EXPECT_OK(cuda.cuMemFreeAsync(first, one));
  EXPECT_OK(cuda.cuStreamSynchronize(one));
  EXPECT_EQ(get(reserved), 0U);
  EXPECT_EQ(free_memory(), std::size_t{1} << 20);
  keep(4096);
  first = from(pool, 8192, one).release();
  EXPECT_OK(cuda.cuMemFreeAsync(first, one));
  EXPECT_OK(cuda.cuStreamSynchronize(one));
  EXPECT_EQ(get(reserved), 4096U);
  EXPECT_EQ(get(used), 0U);
  EXPECT_EQ(get(reserved_high), 8192U);
  EXPECT_EQ(get(used_high), 8192U);
  std::uint64_t zero = 0;
  EXPECT_OK(cuda.cuMemPoolSetAttribute(pool, reserved_high, &zero));
  EXPECT_OK(cuda.cuMemPoolSetAttribute(pool, used_high, &zero));
  EXPECT_EQ(get(reserved_high), 4096U);
  EXPECT_EQ(get(used_high), 0U);
  EXPECT_EQ(cuda.cuMemPoolSetAttribute(pool, reserved, &zero), 1);
  EXPECT_EQ(cuda.cuMemPoolGetAttribute(pool, 99, &zero), 1);
  EXPECT_OK(cuda.cuMemPoolTrimTo(pool, 1024));
  EXPECT_EQ(get(reserved), 1024U);
  EXPECT_OK(cuda.cuMemPoolTrimTo(pool, 0));
  EXPECT_EQ(get(reserved), 0U);
}

TEST_F(SimulatedPools, TrimKeepsMemoryWithAPendingFree) {
  cu::DevicePtr const memory = from(pool, 4096, one).release();
  {
    Gate const gate(cuda, one);
    EXPECT_OK(cuda.cuMemFreeAsync(memory, one));
    EXPECT_OK(cuda.cuMemPoolTrimTo(pool, 0));
    EXPECT_EQ(get(reserved), 4096U);
    EXPECT_EQ(get(used), 0U);
  }
  EXPECT_OK(cuda.cuStreamSynchronize(one));
  EXPECT_EQ(get(reserved), 0U);
}

TEST_F(SimulatedPools, SizeLimitsOfPoolAndDeviceAreEnforced) {
  auto const small = make_pool(8192);
  auto const most = from(small, 8192, one);
  cu::DevicePtr more = 0;
  EXPECT_EQ(cuda.cuMemAllocFromPoolAsync(&more, 1, small, one), 2);
  auto const rest = from(pool, (1 << 20) - 8192, one);
  EXPECT_EQ(cuda.cuMemAllocFromPoolAsync(&more, 1, pool, one), 2);
  EXPECT_EQ(cuda.cuMemAlloc(&more, 1), 2);
  EXPECT_EQ(cuda.cuMemAllocAsync(&more, ~std::size_t{0}, one), 2);
  EXPECT_EQ(cuda.cuMemAllocAsync(&more, 0, one), 1);
}

TEST_F(SimulatedPools, MemoryFreedAfterPoolDestructionIsReturned) {
  cu::MemoryPool const doomed = make_pool().release();
  cu::DevicePtr const first = from(doomed, 4096, one).release();
  cu::DevicePtr const second = from(doomed, 4096, one).release();
  EXPECT_OK(cuda.cuMemPoolDestroy(doomed));
  EXPECT_EQ(sim.live().device_memory, 2);
  EXPECT_EQ(cuda.cuMemPoolDestroy(doomed), 400);
  expect_violation("cuMemPoolDestroy: memory pool");
  EXPECT_OK(cuda.cuMemsetD8Async(first, 1, 4096, one));
  EXPECT_OK(cuda.cuMemFreeAsync(first, one));
  EXPECT_OK(cuda.cuStreamSynchronize(one));
  EXPECT_OK(cuda.cuMemFree(second));
  EXPECT_EQ(free_memory(), std::size_t{1} << 20);
}

TEST_F(SimulatedPools, EachDeviceHasItsOwnDefaultPool) {
  cu::MemoryPool own = nullptr;
  cu::MemoryPool again = nullptr;
  EXPECT_OK(cuda.cuDeviceGetDefaultMemPool(&own, 0));
  EXPECT_OK(cuda.cuDeviceGetDefaultMemPool(&again, 0));
  EXPECT_EQ(own, again);
  EXPECT_OK(cuda.cuDeviceGetDefaultMemPool(&again, 1));
  EXPECT_NE(own, again);
  EXPECT_EQ(cuda.cuDeviceGetDefaultMemPool(&again, 2), 101);
  EXPECT_EQ(cuda.cuMemPoolDestroy(own), 1);
  EXPECT_EQ(sim.live().pools, 1);
  auto const memory = allocate(1000, one);
  std::uint64_t value = 0;
  EXPECT_OK(cuda.cuMemPoolGetAttribute(own, used, &value));
  EXPECT_EQ(value, 1024U);
}

TEST_F(SimulatedPools, UseBeforeStreamOrderedAllocationIsAViolation) {
  SKIP_AS_IT_RACES();
  Gate gate(cuda, one);
  auto const memory = from(pool, 1000, one);
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 1, 1000, two));
  EXPECT_OK(cuda.cuStreamSynchronize(two));
  expect_violation("use before the allocation");
  gate.open();
}

TEST_F(SimulatedPools, FreeInADestroyedStreamIsRefused) {
  cu::Stream const gone = make_stream().release();
  auto const memory = from(pool, 1000, one);
  EXPECT_OK(cuda.cuStreamDestroy(gone));
  EXPECT_EQ(cuda.cuMemFreeAsync(memory, gone), 400);
  expect_violation("cuMemFreeAsync: stream");
  EXPECT_EQ(sim.live().device_memory, 1);
}

TEST_F(SimulatedPools, PlainMemoryMayBeFreedInStreamOrder) {
  cu::DevicePtr const memory = allocate(1000).release();
  EXPECT_OK(cuda.cuMemFreeAsync(memory, one));
  EXPECT_OK(cuda.cuStreamSynchronize(one));
  EXPECT_EQ(free_memory(), std::size_t{1} << 20);
}

TEST_F(SimulatedPools, PeersNeedGrantedAccessToPoolMemory) {
  auto const other = make_context(1);
  auto const there = make_stream();
  auto const memory = from(pool, 1000, one);
  EXPECT_OK(cuda.cuStreamSynchronize(one));
  auto const touch = [](void* pointer) { static_cast<void>(testing::detail::reachable(pointer)); };
  auto* const pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory));
  EXPECT_OK(cuda.launch_simulated(there, touch, pointer));
  EXPECT_OK(cuda.cuStreamSynchronize(there));
  expect_violation("another device's memory without access");
  cu::MemoryAccess access;
  access.location_id = 1;
  EXPECT_OK(cuda.cuMemPoolSetAccess(pool, &access, 1));
  EXPECT_OK(cuda.launch_simulated(there, touch, pointer));
  EXPECT_OK(cuda.cuStreamSynchronize(there));
  access.location_id = 7;
  EXPECT_EQ(cuda.cuMemPoolSetAccess(pool, &access, 1), 101);
  access = {1, 0, 0};
  EXPECT_EQ(cuda.cuMemPoolSetAccess(pool, &access, 1), 1);
}

class SimulatedWithoutPools : public SimulatedDriver {
 protected:
  SimulatedWithoutPools() : SimulatedDriver({.pools = false}) {}
};

TEST_F(SimulatedWithoutPools, EveryPoolCallReturnsNotSupported) {
  int supported = 1;
  EXPECT_OK(cuda.cuDeviceGetAttribute(&supported, 115, 0));
  EXPECT_EQ(supported, 0);
  cu::MemoryPool pool = nullptr;
  cu::MemoryPoolProperties const properties;
  cu::MemoryAccess const access;
  cu::DevicePtr pointer = 0;
  std::uint64_t value = 0;
  EXPECT_EQ(cuda.cuMemPoolCreate(&pool, &properties), 801);
  EXPECT_EQ(cuda.cuMemPoolDestroy(pool), 801);
  EXPECT_EQ(cuda.cuDeviceGetDefaultMemPool(&pool, 0), 801);
  EXPECT_EQ(cuda.cuMemPoolTrimTo(pool, 0), 801);
  EXPECT_EQ(cuda.cuMemPoolGetAttribute(pool, 4, &value), 801);
  EXPECT_EQ(cuda.cuMemPoolSetAttribute(pool, 4, &value), 801);
  EXPECT_EQ(cuda.cuMemPoolSetAccess(pool, &access, 1), 801);
  EXPECT_EQ(cuda.cuMemAllocAsync(&pointer, 100, nullptr), 801);
  EXPECT_EQ(cuda.cuMemAllocFromPoolAsync(&pointer, 100, pool, nullptr), 801);
  EXPECT_EQ(cuda.cuMemFreeAsync(pointer, nullptr), 801);
  auto const plain = allocate(100);  // needs no pool
}

}  // namespace
}  // namespace memarray
