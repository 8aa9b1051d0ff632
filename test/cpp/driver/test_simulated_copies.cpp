#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulated_driver.hpp"

namespace memarray {
namespace {

class SimulatedCopies : public SimulatedDriver {
 protected:
  Scoped<cu::Stream> stream = make_stream();
  Scoped<unsigned char*> pinned = pin(1000);
  Scoped<cu::DevicePtr> memory = allocate(1000);
};

TEST_F(SimulatedCopies, FromPageableMemoryReadTheSourceBeforeReturning) {
  auto source = bytes_of(1000, 1);
  {
    Gate const gate(cuda, stream);
    EXPECT_OK(cuda.cuMemcpyHtoDAsync(memory, source.data(), 1000, stream));
    std::ranges::fill(source, static_cast<unsigned char>(2));  // in place
  }
  EXPECT_EQ(read(memory, 1000, stream), bytes_of(1000, 1));
}

TEST_F(SimulatedCopies, FromPinnedMemoryReadTheSourceAfterReturning) {
  SKIP_AS_IT_RACES();
  pinned[0] = 1;
  {
    Gate const gate(cuda, stream);
    EXPECT_OK(cuda.cuMemcpyHtoDAsync(memory, pinned, 1, stream));
    pinned[0] = 2;
  }
  EXPECT_EQ(read(memory, 1, stream), bytes_of(1, 2));
}

TEST_F(SimulatedCopies, ToPageableMemoryReturnAfterTheWrite) {
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 3, 1000, stream));
  sim.delay(std::chrono::milliseconds(10));
  auto target = bytes_of(1000, 0);
  EXPECT_OK(cuda.cuMemcpyDtoHAsync(target.data(), memory, 1000, stream));
  EXPECT_EQ(target, bytes_of(1000, 3));
}

TEST_F(SimulatedCopies, ToPinnedMemoryReturnAtOnce) {
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 3, 1000, stream));
  Gate gate(cuda, stream);
  EXPECT_OK(cuda.cuMemcpyDtoHAsync(pinned, memory, 1000, stream));
  EXPECT_EQ(cuda.cuStreamQuery(stream), 600);
  gate.open();
  EXPECT_OK(cuda.cuStreamSynchronize(stream));
  EXPECT_EQ(pinned[999], 3);
}

TEST_F(SimulatedCopies, BetweenDevicesNeedNoPeerAccess) {
  auto const other = make_context(1);
  auto const there = allocate(1000);
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 6, 1000, stream));
  EXPECT_OK(cuda.cuMemcpyPeerAsync(there, other, memory, context, 1000, stream));
  EXPECT_EQ(read(there, 1000, stream), bytes_of(1000, 6));
  EXPECT_EQ(cuda.cuMemcpyPeerAsync(there, context, memory, context, 1000, stream), 1);
  expect_violation("is on device 1, its context on 0");
  EXPECT_OK(cuda.cuMemsetD8Async(there, 7, 1000, stream));
  EXPECT_OK(cuda.cuMemcpyDtoDAsync(memory, there, 1000, stream));
  EXPECT_EQ(read(memory, 1000, stream), bytes_of(1000, 7));
}

TEST_F(SimulatedCopies, CopyOfTheWrongMemoryKindIsRefused) {
  std::vector<unsigned char> host(1000);
  auto const host_address = reinterpret_cast<std::uintptr_t>(host.data());
  auto* const device_pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory));
  EXPECT_EQ(cuda.cuMemcpyHtoDAsync(host_address, host.data(), 1, stream), 1);
  expect_violation("not allocated");
  EXPECT_EQ(cuda.cuMemcpyHtoDAsync(memory, device_pointer, 1, stream), 1);
  expect_violation("instead of host memory");
  EXPECT_EQ(cuda.cuMemcpyDtoHAsync(device_pointer, memory, 1, stream), 1);
  expect_violation("instead of host memory");
  EXPECT_EQ(cuda.cuMemcpyDtoHAsync(host.data(), host_address, 1, stream), 1);
  expect_violation("not allocated");
  EXPECT_EQ(cuda.cuMemcpyDtoHAsync(pinned + 1, memory, 1000, stream), 1);
  expect_violation("out of bounds");
  EXPECT_OK(cuda.cuMemcpyHtoDAsync(memory, nullptr, 0, stream));
  EXPECT_OK(cuda.cuMemcpyDtoDAsync(memory, memory, 0, stream));
}

TEST_F(SimulatedCopies, CopyReadsElementsWrittenByAKernel) {
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 20, 1000, stream));
  auto const add_one = [](void* pointer) {
    auto* const bytes = static_cast<unsigned char*>(testing::detail::reachable(pointer));
    for (int i = 0; i < 1000; ++i) ++bytes[i];
  };
  EXPECT_OK(cuda.launch_simulated(stream, add_one, reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory))));
  EXPECT_EQ(read(memory, 1000, stream), bytes_of(1000, 21));
  int local = 0;
  EXPECT_EQ(testing::detail::reachable(&local), &local);
}

/// A fixture for devices whose pageable copies access host memory as late as the CUDA documentation allows.
class LateSimulatedCopies : public SimulatedDriver {
 protected:
  LateSimulatedCopies() : SimulatedDriver({.late_copies = true}) {}

  Scoped<cu::Stream> stream = make_stream();
  Scoped<cu::DevicePtr> memory = allocate(1000);
};

TEST_F(LateSimulatedCopies, FromPageableMemoryReadTheSourceAfterReturning) {
  SKIP_AS_IT_RACES();
  auto source = bytes_of(1000, 1);
  {
    Gate const gate(cuda, stream);
    EXPECT_OK(cuda.cuMemcpyHtoDAsync(memory, source.data(), 1000, stream));
    std::ranges::fill(source, static_cast<unsigned char>(2));  // in place
  }
  auto copy = bytes_of(1000, 0);
  EXPECT_OK(cuda.cuMemcpyDtoHAsync(copy.data(), memory, 1000, stream));
  EXPECT_OK(cuda.cuStreamSynchronize(stream));
  EXPECT_EQ(copy, bytes_of(1000, 2));
}

TEST_F(LateSimulatedCopies, ToPageableMemoryReturnBeforeTheWrite) {
  SKIP_AS_IT_RACES();
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 3, 1000, stream));
  auto target = bytes_of(1000, 0);
  Gate gate(cuda, stream);
  EXPECT_OK(cuda.cuMemcpyDtoHAsync(target.data(), memory, 1000, stream));
  EXPECT_EQ(cuda.cuStreamQuery(stream), 600);
  EXPECT_EQ(target, bytes_of(1000, 0));
  gate.open();
  EXPECT_OK(cuda.cuStreamSynchronize(stream));
  EXPECT_EQ(target, bytes_of(1000, 3));
}

}  // namespace
}  // namespace memarray
