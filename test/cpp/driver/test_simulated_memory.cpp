#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulated_driver.hpp"

namespace memarray {
namespace {

class SimulatedMemory : public SimulatedDriver {
 protected:
  SimulatedMemory() : SimulatedDriver({.count = 2, .memory = std::size_t{1} << 20}) {}
};

TEST_F(SimulatedMemory, IsAlignedLimitedAndFreed) {
  std::vector<cu::DevicePtr> pointers;
  for (;;) {
    cu::DevicePtr pointer = 0;
    cu::Result const result = cuda.cuMemAlloc(&pointer, 100'000);
    if (result != 0) {
      EXPECT_EQ(result, 2);
      break;
    }
    EXPECT_EQ(pointer % 512, 0U);
    pointers.push_back(pointer);
  }
  EXPECT_EQ(pointers.size(), 10U);
  EXPECT_EQ(sim.live().device_memory, 10);
  cu::DevicePtr pointer = 0;
  EXPECT_EQ(cuda.cuMemAlloc(&pointer, std::size_t{1} << 40), 2);
  EXPECT_EQ(cuda.cuMemAlloc(&pointer, ~std::size_t{0}), 2);
  EXPECT_EQ(cuda.cuMemAlloc(&pointer, 0), 1);
  // Frees in any order; adjacent free ranges merge.
  std::swap(pointers[0], pointers[5]);
  std::swap(pointers[3], pointers[9]);
  for (cu::DevicePtr const freed : pointers) EXPECT_OK(cuda.cuMemFree(freed));
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_OK(cuda.cuMemGetInfo(&free, &total));
  EXPECT_EQ(free, std::size_t{1} << 20);
  EXPECT_EQ(total, free);
  EXPECT_OK(cuda.cuMemFree(allocate(total).release()));
  EXPECT_OK(cuda.cuMemFree(0));
}

TEST_F(SimulatedMemory, UnwrittenAndFreedMemoryHasMarkerBytes) {
  cu::DevicePtr const memory = allocate(1000).release();
  EXPECT_EQ(read(memory, 1000, nullptr), bytes_of(1000, 0xCD));
  auto const* const reached = static_cast<unsigned char const*>(
      testing::detail::reachable(reinterpret_cast<void const*>(static_cast<std::uintptr_t>(memory))));
  EXPECT_EQ(reached[999], 0xCD);
  EXPECT_OK(cuda.cuMemFree(memory));
  EXPECT_EQ(reached[0], 0xDB);
  EXPECT_EQ(reached[999], 0xDB);
}

TEST_F(SimulatedMemory, DoubleFreeAndInteriorFreeAreViolations) {
  cu::DevicePtr const memory = allocate(1000).release();
  EXPECT_EQ(cuda.cuMemFree(memory + 8), 1);
  expect_violation("invalid free of");
  EXPECT_OK(cuda.cuMemFree(memory));
  EXPECT_EQ(cuda.cuMemFree(memory), 1);
  expect_violation("double free");
  EXPECT_EQ(cuda.cuMemFree(12345), 1);
  expect_violation("in no allocation");
  EXPECT_EQ(cuda.cuMemFreeAsync(memory, nullptr), 1);
  expect_violation("cuMemFreeAsync: double free");
}

TEST_F(SimulatedMemory, FreeWaitsForTheDevice) {
  auto const stream = make_stream();
  cu::DevicePtr const memory = allocate(1000).release();
  std::atomic<bool> is_freed{false};
  Gate gate(cuda, stream);
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 1, 1000, stream));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(is_freed);
    gate.open();
  });
  EXPECT_OK(cuda.cuMemFree(memory));
  is_freed = true;
  opener.join();
}

TEST_F(SimulatedMemory, UseAfterFreeIsAViolation) {
  SKIP_AS_IT_RACES();
  auto const stream = make_stream();
  auto const other = make_stream();
  cu::DevicePtr const memory = allocate(1000, stream).release();
  EXPECT_OK(cuda.cuStreamSynchronize(stream));
  Gate gate(cuda, other);
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 1, 1000, other));
  EXPECT_OK(cuda.cuMemFreeAsync(memory, stream));
  EXPECT_OK(cuda.cuStreamSynchronize(stream));
  gate.open();
  EXPECT_OK(cuda.cuStreamSynchronize(other));
  expect_violation("cuMemsetD8Async: use after free");
  // Work submitted after the free is refused at once.
  EXPECT_EQ(cuda.cuMemsetD8Async(memory, 1, 1000, other), 1);
  expect_violation("use after free");
}

TEST_F(SimulatedMemory, FreeDuringAKernelIsAViolation) {
  struct Kernel {
    void const* memory;
    std::atomic<bool> go{false};
  };
  auto const stream = make_stream();
  auto const other = make_stream();
  cu::DevicePtr const memory = allocate(1000, stream).release();
  Kernel kernel{reinterpret_cast<void const*>(static_cast<std::uintptr_t>(memory))};
  EXPECT_OK(cuda.cuStreamSynchronize(stream));
  auto const run = [](void* data) {
    auto& self = *static_cast<Kernel*>(data);
    while (!self.go) std::this_thread::yield();
    static_cast<void>(testing::detail::reachable(self.memory));
  };
  EXPECT_OK(cuda.launch_simulated(other, run, &kernel));
  EXPECT_OK(cuda.cuMemFreeAsync(memory, stream));
  EXPECT_OK(cuda.cuStreamSynchronize(stream));
  kernel.go = true;
  EXPECT_OK(cuda.cuStreamSynchronize(other));
  expect_violation("kernel: use after free");
}

TEST_F(SimulatedMemory, AUseOutOfBoundsIsRefused) {
  auto const memory = allocate(1000);
  auto const other = allocate(1000);
  EXPECT_EQ(cuda.cuMemsetD8Async(memory, 1, 1001, nullptr), 1);
  expect_violation("out of bounds");
  EXPECT_EQ(cuda.cuMemsetD8Async(memory + 999, 1, 2, nullptr), 1);
  expect_violation("out of bounds");
  EXPECT_EQ(cuda.cuMemcpyDtoDAsync(memory, other + 1, 1000, nullptr), 1);
  expect_violation("out of bounds");
  EXPECT_EQ(cuda.cuMemsetD8Async(memory, 1, ~std::size_t{0}, nullptr), 1);
  expect_violation("out of bounds");
  // The range between the end and the next allocation.
  EXPECT_EQ(cuda.cuMemsetD8Async(memory + 1000, 1, 1, nullptr), 1);
  expect_violation("in no allocation");
  EXPECT_OK(cuda.cuMemsetD8Async(memory + 999, 1, 1, nullptr));
}

TEST_F(SimulatedMemory, HostCanAccessPinnedAndManagedMemory) {
  auto const pinned = pin(1000);
  cu::DevicePtr refused = 0;
  EXPECT_EQ(cuda.cuMemAllocManaged(&refused, 1000, 0), 1);
  EXPECT_EQ(cuda.cuMemAllocManaged(&refused, ~std::size_t{0}, 1), 2);
  void* none = nullptr;
  EXPECT_EQ(cuda.cuMemHostAlloc(&none, std::size_t{1} << 60, 0), 2);
  EXPECT_EQ(cuda.cuMemHostAlloc(&none, 0, 0), 1);
  cu::DevicePtr const managed = allocate_managed(1000).release();
  EXPECT_EQ(sim.live().pinned_memory, 1);
  EXPECT_EQ(sim.live().managed_memory, 1);
  EXPECT_EQ(sim.live().device_memory, 0);
  auto* const seen = reinterpret_cast<unsigned char*>(static_cast<std::uintptr_t>(managed));
  seen[0] = 7;
  pinned[0] = 9;
  EXPECT_OK(cuda.cuMemcpyHtoDAsync(managed + 1, pinned, 1, nullptr));
  EXPECT_OK(cuda.cuMemsetD8Async(managed + 2, 3, 1, nullptr));
  EXPECT_OK(cuda.cuStreamSynchronize(nullptr));
  EXPECT_EQ(seen[0], 7);
  EXPECT_EQ(seen[1], 9);
  EXPECT_EQ(seen[2], 3);
  EXPECT_EQ(cuda.cuMemFreeHost(seen), 1);
  expect_violation("cuMemFreeHost");
  EXPECT_OK(cuda.cuMemFree(managed));
  EXPECT_OK(cuda.cuMemFreeHost(nullptr));
  EXPECT_EQ(cuda.cuMemFree(managed), 1);
  expect_violation("double free");
}

TEST_F(SimulatedMemory, PinnedMemoryFreedDuringACopyIsAViolationWithoutACrash) {
  unsigned char* const pinned = pin(1000).release();
  auto const memory = allocate(1000);
  Gate gate(cuda, nullptr);
  EXPECT_OK(cuda.cuMemcpyDtoHAsync(pinned, memory, 1000, nullptr));
  EXPECT_OK(cuda.cuMemFreeHost(pinned));
  gate.open();
  EXPECT_OK(cuda.cuStreamSynchronize(nullptr));
  expect_violation("use after free");
}

TEST_F(SimulatedMemory, PointerAttributesDescribeTheMemory) {
  auto const memory = allocate(1000);
  auto const managed = allocate_managed(1000);
  auto const pinned = pin(1000);
  auto const attribute = [&](int number, cu::DevicePtr pointer) {
    unsigned value = 99;
    EXPECT_OK(cuda.cuPointerGetAttribute(&value, number, pointer));
    return value;
  };
  EXPECT_EQ(attribute(2, memory + 10), 2U);
  EXPECT_EQ(attribute(2, managed), 2U);
  EXPECT_EQ(attribute(2, reinterpret_cast<std::uintptr_t>(pinned + 999)), 1U);
  EXPECT_EQ(attribute(8, memory), 0U);
  EXPECT_EQ(attribute(8, managed), 1U);
  EXPECT_EQ(attribute(9, memory), 0U);
  cu::Context of = nullptr;
  EXPECT_OK(cuda.cuPointerGetAttribute(&of, 1, memory));
  EXPECT_EQ(of, context);
  int local = 0;
  EXPECT_EQ(cuda.cuPointerGetAttribute(&local, 2, reinterpret_cast<std::uintptr_t>(&local)), 1);
  EXPECT_EQ(cuda.cuPointerGetAttribute(&local, 77, memory), 1);
}

TEST_F(SimulatedMemory, ViolationsAndLiveResourcesNameTheAllocationSite) {
  testing::detail::set_allocation_site("here.py:12");
  cu::DevicePtr const memory = allocate(1000).release();
  testing::detail::set_allocation_site(nullptr);
  auto const live = sim.live_resources();
  EXPECT_TRUE(std::any_of(live.begin(), live.end(), [](std::string const& words) {
    return words.find("1000 bytes of device 0, made at here.py:12") != std::string::npos;
  })) << ::testing::PrintToString(live);
  EXPECT_OK(cuda.cuMemFree(memory));
  EXPECT_EQ(cuda.cuMemFree(memory), 1);
  expect_violation("here.py:12");
}

}  // namespace
}  // namespace memarray
