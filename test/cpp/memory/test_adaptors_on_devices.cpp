// Each adaptor on top of each kind of driver memory.
#include <memarray/base/errors.hpp>
#include <memarray/driver/stream_order.hpp>
#include <memarray/memory/delaying_adaptor.hpp>
#include <memarray/memory/driver_resource.hpp>
#include <memarray/memory/failing_adaptor.hpp>
#include <memarray/memory/limiting_adaptor.hpp>
#include <memarray/memory/pooling_adaptor.hpp>
#include <memarray/memory/statistics_adaptor.hpp>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "driver/simulated_driver.hpp"

namespace memarray::test {
namespace {

using namespace std::chrono_literals;

struct Kind {
  char const* name;
  std::function<DriverResource(ContextHandle const&)> make;
  MemoryType type;
};
std::vector<Kind> kinds() {
  return {
      {"pool", [](auto const&) { return DriverResource::from_pool(create_memory_pool_handle(0)); }, MemoryType::device},
      {"device", DriverResource::device, MemoryType::device},
      {"managed", DriverResource::managed, MemoryType::unified},
      {"pinned", DriverResource::pinned, MemoryType::pinned}};
}
void PrintTo(Kind const& kind, std::ostream* out) { *out << kind.name; }

class AdaptorsOnDevicesTest : public testing::SimulatedDevicesTest, public ::testing::WithParamInterface<Kind> {
 protected:
  AdaptorsOnDevicesTest() : SimulatedDevicesTest({.memory = std::size_t{8} << 20}) {}

  [[nodiscard]] MemoryResource below() const { return GetParam().make(context); }
  [[nodiscard]] std::int64_t live() const {
    testing::LiveResources const all = sim.live();
    return all.device_memory + all.managed_memory + all.pinned_memory;
  }
  /// Sets memory in stream order and returns its last byte.
  [[nodiscard]] unsigned char used(void* pointer, std::size_t bytes) {
    detail::ContextScope const scope(context);
    unsigned char last = 0;
    if (is_host_accessible(GetParam().type)) {
      std::memset(pointer, 7, bytes);
      return static_cast<unsigned char const*>(pointer)[bytes - 1];
    }
    auto const address = reinterpret_cast<cu::DevicePtr>(pointer);
    EXPECT_OK(scope.driver()->cuMemsetD8Async(address, 7, bytes, as_cu(stream)));
    EXPECT_OK(scope.driver()->cuMemcpyDtoHAsync(&last, address + bytes - 1, 1, as_cu(stream)));
    return last;
  }
  /// Expects usable memory of the resource's type, which can be deallocated while work is pending.
  void expect_to_work(MemoryResource resource) {
    EXPECT_EQ(resource.memory_type(), GetParam().type);
    for (std::size_t const bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{1} << 20})
      for (std::size_t const alignment : {64, 256}) {
        void* const pointer = resource.allocate(stream, bytes, alignment);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % alignment, 0u);
        EXPECT_EQ(used(pointer, bytes), 7);
        resource.deallocate(stream, pointer, bytes, alignment);
      }
    sim.delay(2ms);
    void* const pointer = resource.allocate(stream, 1000);
    static_cast<void>(used(pointer, 1000));
    resource.deallocate(stream, pointer, 1000);  // freeing too early is a violation
    sim.delay({});
    ASSERT_TRUE(synchronize(stream, context));
    EXPECT_EQ(live(), 0) << "it kept something";
    if (GetParam().type == MemoryType::device) {
      EXPECT_THROW(static_cast<void>(resource.allocate(stream, std::size_t{9} << 20)), OutOfMemoryError);
    }
    EXPECT_THROW(static_cast<void>(resource.allocate(stream, 64, 512)), ValueError);
    sim.fail(GetParam().type == MemoryType::pinned ? "cuMemHostAlloc" : "cuMemAlloc", 1, 719);
    sim.fail("cuMemAllocManaged", 1, 719);
    sim.fail("cuMemAllocFromPoolAsync", 1, 719);
    EXPECT_THROW(static_cast<void>(resource.allocate(stream, 64)), CudaError);
    sim.clear();
    resource.deallocate(stream, resource.allocate(stream, 64), 64);
  }

  ContextHandle context = get_primary_context(0);
  StreamHandle stream = create_stream_handle(context);
};

TEST_P(AdaptorsOnDevicesTest, LimitingAdaptorEnforcesItsLimit) {
  LimitingAdaptor limited{below(), std::size_t{16} << 20};
  expect_to_work(limited);
  EXPECT_EQ(limited.in_use(), 0u) << "upstream failures count";
  LimitingAdaptor small{below(), 1000};
  void* const pointer = small.allocate(stream, 900);
  EXPECT_THROW(static_cast<void>(small.allocate(stream, 200)), OutOfMemoryError);
  EXPECT_EQ(live(), 1);
  EXPECT_EQ(small.in_use(), 900u);
  small.deallocate(stream, pointer, 900);
  void* const zeroed = small.allocate_zeroed(stream, 1000);
  if (is_host_accessible(GetParam().type)) {
    EXPECT_EQ(static_cast<unsigned char const*>(zeroed)[999], 0);
  }
  small.deallocate(stream, zeroed, 1000);
}

TEST_P(AdaptorsOnDevicesTest, StatisticsAdaptorCountsSuccessfulAllocations) {
  StatisticsAdaptor counted{below()};
  expect_to_work(counted);
  EXPECT_EQ(counted.statistics().live_blocks, 0u);
  EXPECT_EQ(counted.statistics().live_bytes, 0u);
  EXPECT_EQ(counted.statistics().allocations, 8u) << "those that succeeded";
  EXPECT_EQ(counted.statistics().peak_bytes, std::uint64_t{1} << 20);
}

TEST_P(AdaptorsOnDevicesTest, FailingAdaptorFailsTheChosenAllocation) {
  FailingAdaptor failing{below()};
  expect_to_work(failing);
  failing.fail(2);
  void* const pointer = failing.allocate(stream, 64);
  EXPECT_THROW(static_cast<void>(failing.allocate(stream, 64)), OutOfMemoryError);
  EXPECT_EQ(live(), 1) << "a refused request allocates nothing";
  failing.deallocate(stream, pointer, 64);
  EXPECT_EQ(failing.failures(), 1);
}

TEST_P(AdaptorsOnDevicesTest, DelayingAdaptorPassesCallsThrough) {
  DelayingAdaptor const delaying{below(), 100us};
  EXPECT_EQ(delaying.delay(), 100us);
  expect_to_work(delaying);
}

TEST_P(AdaptorsOnDevicesTest, StackedAdaptorsWorkTogether) {
  StatisticsAdaptor counted{below()};
  LimitingAdaptor limited{counted, std::size_t{16} << 20};
  FailingAdaptor failing{limited};
  expect_to_work(DelayingAdaptor(failing, 10us));
  failing.fail(1);
  EXPECT_THROW(static_cast<void>(DelayingAdaptor(failing, 10us).allocate(stream, 64)), OutOfMemoryError);
  EXPECT_EQ(limited.in_use(), 0u);
  EXPECT_EQ(counted.statistics().live_blocks, 0u);
}

TEST_P(AdaptorsOnDevicesTest, ZeroedMemoryIsZeroOrRefused) {
  for (MemoryResource resource :
       {MemoryResource(LimitingAdaptor(below(), 10'000)), MemoryResource(StatisticsAdaptor(below())),
        MemoryResource(FailingAdaptor(below())), MemoryResource(DelayingAdaptor(below(), 1us))}) {
    try {
      void* const pointer = resource.allocate_zeroed(stream, 5000);
      unsigned char last = 1;
      detail::ContextScope const scope(context);
      if (is_host_accessible(GetParam().type))
        last = static_cast<unsigned char const*>(pointer)[4999];
      else
        EXPECT_OK(scope.driver()->cuMemcpyDtoHAsync(&last, reinterpret_cast<cu::DevicePtr>(pointer) + 4999, 1,
                                                    as_cu(stream)));
      EXPECT_EQ(last, 0);
      resource.deallocate(stream, pointer, 5000);
    } catch (CudaError const&) {
      // Thrown by adaptors that cannot zero memory unreachable from the host. They leak nothing.
      EXPECT_EQ(GetParam().type, MemoryType::device);
    }
    ASSERT_TRUE(synchronize(stream, context));
    EXPECT_EQ(live(), 0);
  }
}

TEST_P(AdaptorsOnDevicesTest, PoolingAcceptsOnlyHostAccessibleMemory) {
  if (!is_host_accessible(GetParam().type)) {
    EXPECT_THROW(PoolingAdaptor{below()}, ValueError);
    return;
  }
  PoolingAdaptor pooled{below()};
  void* const first = pooled.allocate(stream, 10'000);
  std::memset(first, 1, 10'000);
  pooled.deallocate(stream, first, 10'000);
  EXPECT_EQ(live(), 1);
  void* const second = pooled.allocate(stream, 10'000);
  EXPECT_EQ(second, first);
  pooled.deallocate(stream, second, 10'000);
  pooled.trim();
  EXPECT_EQ(live(), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, AdaptorsOnDevicesTest, ::testing::ValuesIn(kinds()),
                         [](auto const& info) { return info.param.name; });

}  // namespace
}  // namespace memarray::test
