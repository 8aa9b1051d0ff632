#include <memarray/memory/default_resource.hpp>

#include <memarray/base/errors.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include "resource_suite.hpp"

namespace memarray::test {
namespace {

struct MakeDefault {
  static MemoryResource make(MemoryResource) { return host_resource(); }
  static constexpr bool uses_upstream = false;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Default, ResourceSuite, MakeDefault);

TEST(DefaultResource, IsOnePerProcessAndCountsHitsAndMisses) {
  EXPECT_EQ(host_resource(), host_resource());
  trim();
  auto const before = host_memory_statistics();
  std::size_t const bytes = std::size_t{4} << 20;
  void* pointer = host_resource().allocate(default_stream(), bytes);
  EXPECT_EQ(host_memory_statistics().misses, before.misses + 1);
  host_resource().deallocate(default_stream(), pointer, bytes);
  EXPECT_EQ(host_memory_statistics().kept_bytes, bytes);
  EXPECT_EQ(host_memory_statistics().kept_blocks, 1U);
  pointer = host_resource().allocate(default_stream(), bytes);
  EXPECT_EQ(host_memory_statistics().hits, before.hits + 1);
  EXPECT_EQ(host_memory_statistics().kept_bytes, 0U);
  host_resource().deallocate(default_stream(), pointer, bytes);
  EXPECT_EQ(trim(bytes), 0U);
  EXPECT_EQ(trim(), bytes);
}

TEST(DefaultResource, ReturnsAResourceOfTheRequestedMemoryType) {
  memarray::testing::SimulatedDevices const devices;
  EXPECT_EQ(host_resource(MemoryType::normal, 0), host_resource());
  for (MemoryType const type : {MemoryType::pinned, MemoryType::unified})
    EXPECT_EQ(host_resource(type, 0).memory_type(), type);
  EXPECT_THROW(static_cast<void>(host_resource(MemoryType::device, 0)), ValueError);
  EXPECT_THROW(static_cast<void>(host_resource(MemoryType::pinned, 7)), CudaError);
}

}  // namespace
}  // namespace memarray::test
