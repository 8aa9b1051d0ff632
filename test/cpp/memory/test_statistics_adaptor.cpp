#include <memarray/memory/statistics_adaptor.hpp>

#include "resource_suite.hpp"

namespace memarray::test {
namespace {

struct MakeCounted {
  static MemoryResource make(MemoryResource upstream) { return StatisticsAdaptor(std::move(upstream)); }
  static constexpr bool uses_upstream = true;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Statistics, ResourceSuite, MakeCounted);

TEST(StatisticsAdaptor, CountsBlocksAndBytes) {
  CountingResource::Counts upstream;
  StatisticsAdaptor counted{CountingResource(upstream)};
  StreamHandle const stream = default_stream();
  void* const a = counted.allocate(stream, 100);
  void* const b = counted.allocate_zeroed(stream, 50);
  counted.deallocate(stream, a, 100);
  upstream.failures = 1;
  EXPECT_THROW(static_cast<void>(counted.allocate(stream, 10)), OutOfMemoryError);
  auto const statistics = StatisticsAdaptor(counted).statistics();
  EXPECT_EQ(statistics.allocations, 2U);
  EXPECT_EQ(statistics.live_blocks, 1U);
  EXPECT_EQ(statistics.live_bytes, 50U);
  EXPECT_EQ(statistics.peak_bytes, 150U);
  counted.deallocate(stream, b, 50);
  EXPECT_EQ(counted.statistics().live_blocks, 0U);
}

}  // namespace
}  // namespace memarray::test
