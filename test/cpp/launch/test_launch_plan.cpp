#include <memarray/detail/launch/launch_plan.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace memarray::detail {
namespace {

constexpr Occupancy large_device{256, 1056, 132};

TEST(OccupancyCacheTest, RemembersTheOccupancyOfEachDevice) {
  static constinit OccupancyCache cache;
  EXPECT_FALSE(cache.find(0).has_value());
  cache.keep(0, large_device);
  cache.keep(31, {1024, 100000, 4000});
  EXPECT_EQ(cache.find(0), large_device);
  EXPECT_EQ(cache.find(31), (Occupancy{1024, 100000, 4000}));
  EXPECT_FALSE(cache.find(1).has_value());
}

TEST(OccupancyCacheTest, DoesNotCacheDevicesOutOfRange) {
  OccupancyCache cache;
  for (int const device : {-1, 32, 1000}) {
    cache.keep(device, large_device);
    EXPECT_FALSE(cache.find(device).has_value());
  }
}

TEST(LaunchPlanTest, OneElementTakesOneWarp) { EXPECT_EQ(plan_launch(1, 4, large_device), (LaunchPlan{1, 32, 0})); }

TEST(LaunchPlanTest, FewElementsAreSpreadOverAllProcessors) {
  EXPECT_EQ(plan_launch(864, 2, large_device), (LaunchPlan{27, 32, 0}));
  EXPECT_EQ(plan_launch(132 * 64, 2, large_device), (LaunchPlan{132, 64, 0}));
  EXPECT_EQ(plan_launch(132 * 65, 2, large_device).threads, 96U);
}

TEST(LaunchPlanTest, VectorsAreUsedWhenEveryThreadHasOne) {
  std::int64_t const at_once = 256 * 1056;
  EXPECT_EQ(plan_launch(4 * at_once - 1, 4, large_device).vectors, 0);
  EXPECT_EQ(plan_launch(4 * at_once + 3, 4, large_device), (LaunchPlan{1056, 256, at_once}));
  EXPECT_EQ(plan_launch(4 * at_once, 0, large_device).vectors, 0);
}

TEST(LaunchPlanTest, EveryThreadHasOneElementOrVectorUpToCudasLimitOfBlocks) {
  std::int64_t const size = std::int64_t{1} << 30;
  EXPECT_EQ(plan_launch(size, 4, large_device), (LaunchPlan{1 << 20, 256, size / 4}));
  EXPECT_EQ(plan_launch(size, 0, large_device), (LaunchPlan{1 << 22, 256, 0}));
  EXPECT_EQ(plan_launch(std::int64_t{1} << 40, 0, large_device).blocks, 2147483647U);
}

TEST(LaunchPlanTest, DeviceWithZeroOccupancyStillGetsABlock) {
  // The launch itself reports the error.
  EXPECT_GE(plan_launch(1000, 4, {32, 0, 1}).blocks, 1U);
}

}  // namespace
}  // namespace memarray::detail
