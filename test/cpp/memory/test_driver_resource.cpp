#include <memarray/base/errors.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/stream_order.hpp>
#include <memarray/memory/driver_resource.hpp>
#include <memarray/memory/limiting_adaptor.hpp>
#include <memarray/memory/statistics_adaptor.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "driver/simulated_driver.hpp"

namespace memarray::test {
namespace {

class DriverResourceTest : public testing::SimulatedDevicesTest {
 protected:
  DriverResourceTest() : SimulatedDevicesTest({.memory = std::size_t{8} << 20}) {}

  struct Kind {
    char const* name;
    std::function<DriverResource(ContextHandle const&)> make;
    MemoryType type;
  };
  [[nodiscard]] static std::vector<Kind> kinds() {
    return {{"pool", [](auto const&) { return DriverResource::from_pool(create_memory_pool_handle(0)); },
             MemoryType::device},
            {"device", DriverResource::device, MemoryType::device},
            {"managed", DriverResource::managed, MemoryType::unified},
            {"pinned", DriverResource::pinned, MemoryType::pinned}};
  }

  /// Returns a byte of the memory, read in stream order.
  [[nodiscard]] unsigned char byte_at(void const* pointer, std::size_t at) {
    detail::ContextScope const scope(context);
    unsigned char byte = 0;
    EXPECT_EQ(scope.driver()->cuMemcpyDtoHAsync(&byte, reinterpret_cast<cu::DevicePtr>(pointer) + at, 1, *stream), 0);
    EXPECT_TRUE(synchronize(stream, context));
    return byte;
  }

  ContextHandle context = get_primary_context(0);
  StreamHandle stream = create_stream_handle(context);
};

TEST_F(DriverResourceTest, AllocatesAndFreesEverySize) {
  for (Kind const& kind : kinds()) {
    DriverResource resource = kind.make(context);
    EXPECT_EQ(resource.memory_type(), kind.type) << kind.name;
    for (std::size_t const bytes : {0, 1, 63, 4096, 1 << 20}) {
      for (std::size_t const alignment : {64, 256}) {
        void* const pointer = resource.allocate(stream, bytes, alignment);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % alignment, 0u) << kind.name;
        if (is_host_accessible(kind.type)) std::memset(pointer, 1, bytes);
        resource.deallocate(stream, pointer, bytes, alignment);
      }
    }
  }
}

TEST_F(DriverResourceTest, DeviceMemoryIsZeroedInStreamOrderAndHostMemoryAtOnce) {
  for (Kind const& kind : kinds()) {
    MemoryResource resource = kind.make(context);
    // Host-accessible memory is zero at once, even while work is pending in the stream.
    Gate gate;
    if (kind.type != MemoryType::device) {
      detail::ContextScope const scope(context);
      gate.put(*scope.driver(), as_cu(stream));
    }
    void* const pointer = resource.allocate_zeroed(stream, 10'000);
    if (kind.type == MemoryType::device) {
      EXPECT_EQ(byte_at(pointer, 9'999), 0) << kind.name;
    } else {
      EXPECT_EQ(static_cast<unsigned char const*>(pointer)[9'999], 0) << kind.name;
    }
    gate.open();
    resource.deallocate(stream, pointer, 10'000);
  }
}

TEST_F(DriverResourceTest, OutOfMemoryErrorStatesRequestedAndAvailableBytes) {
  for (Kind const& kind : kinds()) {
    if (!(kind.type == MemoryType::device)) continue;
    DriverResource resource = kind.make(context);
    try {
      static_cast<void>(resource.allocate(stream, std::size_t{9} << 20));
      ADD_FAILURE() << kind.name;
    } catch (OutOfMemoryError const& error) {
      std::string const words = error.what();
      EXPECT_NE(words.find("9437184 bytes of device memory on cuda:0"), std::string::npos) << words;
      EXPECT_NE(words.find("8388608"), std::string::npos) << words;
    }
  }
}

TEST_F(DriverResourceTest, PoolIsTrimmedBeforeAnAllocationFails) {
  DriverResource first = DriverResource::of_device(0);
  void* const large = first.allocate(stream, std::size_t{6} << 20);
  first.deallocate(stream, large, std::size_t{6} << 20);
  ASSERT_TRUE(synchronize(stream, context));
  // The range kept by the pool blocks an allocation from another pool, and a larger one from this pool.
  void* const larger = first.allocate(stream, std::size_t{7} << 20);
  EXPECT_NE(larger, nullptr);
  first.deallocate(stream, larger, std::size_t{7} << 20);
}

TEST_F(DriverResourceTest, OutOfMemoryIsRetriedOnce) {
  DriverResource resource = DriverResource::of_device(0);
  sim.fail("cuMemAllocFromPoolAsync", 1, 2, 1);
  void* const pointer = resource.allocate(stream, 64);
  EXPECT_EQ(sim.calls("cuMemPoolTrimTo"), 1u);
  resource.deallocate(stream, pointer, 64);
  sim.fail("cuMemAllocFromPoolAsync", 1, 2, 2);
  EXPECT_THROW(static_cast<void>(resource.allocate(stream, 64)), OutOfMemoryError);
  sim.clear();
  sim.fail("cuMemAllocFromPoolAsync", 1, 719);
  EXPECT_THROW(static_cast<void>(resource.allocate(stream, 64)), CudaError);
  EXPECT_EQ(sim.calls("cuMemPoolTrimTo"), 2u) << "another failure is not for want of memory";
}

TEST_F(DriverResourceTest, MemoryIsFreedIfZeroingFails) {
  DriverResource resource = DriverResource::of_device(0);
  sim.fail("cuMemsetD8Async", 1, 719);
  EXPECT_THROW(static_cast<void>(resource.allocate_zeroed(stream, 64)), CudaError);
  sim.clear();
  EXPECT_EQ(sim.live().device_memory, 0);
}

TEST_F(DriverResourceTest, AlignmentsBeyondTheDriversAreRefused) {
  DriverResource resource = DriverResource::device(context);
  EXPECT_THROW(static_cast<void>(resource.allocate(stream, 64, 512)), ValueError);
}

TEST_F(DriverResourceTest, EqualResourcesFreeEachOthersMemory) {
  EXPECT_EQ(DriverResource::device(context), DriverResource::device(get_primary_context(0)));
  EXPECT_FALSE(DriverResource::device(context) == DriverResource::pinned(context));
  EXPECT_FALSE(DriverResource::of_device(0) == DriverResource::of_device(0)) << "two pools";
  void* const pointer = DriverResource::device(context).allocate(stream, 64);
  DriverResource::device(get_primary_context(0)).deallocate(stream, pointer, 64);
}

TEST_F(DriverResourceTest, KeepsItsPoolAlive) {
  MemoryResource resource = DriverResource::of_device(1);
  EXPECT_EQ(sim.live().pools, 1);
  MemoryResource const copy = resource;
  resource = {};
  EXPECT_EQ(sim.live().pools, 1);
}

TEST_F(DriverResourceTest, WorksUnderAdaptors) {
  StatisticsAdaptor counted{DriverResource::of_device(0)};
  LimitingAdaptor limited{counted, 1000};
  void* const pointer = limited.allocate(stream, 900);
  EXPECT_THROW(static_cast<void>(limited.allocate(stream, 200)), OutOfMemoryError);
  EXPECT_EQ(limited.memory_type(), MemoryType::device);
  limited.deallocate(stream, pointer, 900);
}

TEST_F(DriverResourceTest, PinnedMemoryIsFreedAfterTheStreamsWork) {
  DriverResource pinned = DriverResource::pinned(context);
  DriverResource device = DriverResource::device(context);
  void* const host = pinned.allocate(stream, 1 << 20);
  void* const target = device.allocate(stream, 1 << 20);
  Gate gate;
  {
    detail::ContextScope const scope(context);
    gate.put(*scope.driver(), as_cu(stream));
    scope.driver()->cuMemcpyHtoDAsync(reinterpret_cast<cu::DevicePtr>(target), host, 1 << 20, *stream);
  }
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  pinned.deallocate(stream, host, 1 << 20);  // waits; otherwise the copy would read freed memory, a violation
  EXPECT_EQ(sim.waits().back(), "cuStreamSynchronize: freeing memory without a pool");
  opener.join();
  device.deallocate(stream, target, 1 << 20);
}

TEST_F(DriverResourceTest, NullStreamFreesAfterWorkOfTheLegacyStream) {
  StreamHandle const legacy = get_legacy_stream();
  for (Kind const& kind : kinds()) {
    DriverResource resource = kind.make(context);
    DriverResource device = DriverResource::device(context);
    void* const freed = resource.allocate(legacy, 1 << 20);
    void* const target = device.allocate(legacy, 1 << 20);
    Gate gate;
    {
      detail::ContextScope const scope(context);
      gate.put(*scope.driver(), as_cu(legacy));
      auto const from = reinterpret_cast<cu::DevicePtr>(freed);
      EXPECT_EQ(
          kind.type == MemoryType::pinned
              ? scope.driver()->cuMemcpyHtoDAsync(reinterpret_cast<cu::DevicePtr>(target), freed, 1 << 20, *legacy)
              : scope.driver()->cuMemcpyDtoDAsync(reinterpret_cast<cu::DevicePtr>(target), from, 1 << 20, *legacy),
          0);
    }
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      gate.open();
    });
    resource.deallocate(StreamHandle(), freed, 1 << 20);  // freed at once, the copy would be a violation
    opener.join();
    device.deallocate(legacy, target, 1 << 20);
    EXPECT_TRUE(synchronize(legacy, context)) << kind.name;
    EXPECT_EQ(sim.live().device_memory + sim.live().managed_memory + sim.live().pinned_memory, 0) << kind.name;
    EXPECT_TRUE(sim.violations().empty()) << kind.name;
  }
}

TEST_F(DriverResourceTest, NullHandleIsRefusedWithTheCreationError) {
  try {
    static_cast<void>(DriverResource::of_device(7));
    ADD_FAILURE();
  } catch (CudaError const& error) {
    EXPECT_EQ(error.code(), 101);
  }
  EXPECT_THROW(static_cast<void>(DriverResource::pinned(get_primary_context(7))), CudaError);
}

TEST(DriverResourceWithoutPoolsTest, AllocatesPlainDeviceMemory) {
  testing::SimulatedDevices const sim({.pools = false});
  DriverResource resource = DriverResource::of_device(0);
  EXPECT_FALSE(resource.pool());
  EXPECT_EQ(peek_last_error(), 0);
  resource.deallocate(default_stream(), resource.allocate(default_stream(), 100), 100);
  EXPECT_EQ(sim.calls("cuMemAlloc"), 1u);
}

TEST_F(DriverResourceTest, ForkedChildGetsAnErrorAndSkipsTheDriver) {
  DriverResource resource = DriverResource::device(context);
  void* const pointer = resource.allocate(stream, 64);
  pid_t const child = fork();
  if (child == 0) {
    resource.deallocate(stream, pointer, 64);
    try {
      static_cast<void>(resource.allocate(stream, 64));
    } catch (CudaError const& error) {
      _exit(std::string(error.what()).find("fork") != std::string::npos ? 0 : 1);
    }
    _exit(2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  resource.deallocate(stream, pointer, 64);
}

}  // namespace
}  // namespace memarray::test
