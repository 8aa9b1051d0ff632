#include <memarray/memory/limiting_adaptor.hpp>

#include "resource_suite.hpp"

namespace memarray::test {
namespace {

struct MakeLimited {
  static MemoryResource make(MemoryResource upstream) {
    return LimitingAdaptor(std::move(upstream), std::size_t{1} << 30);
  }
  static constexpr bool uses_upstream = true;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Limiting, ResourceSuite, MakeLimited);

TEST(LimitingAdaptor, RefusesAllocationsBeyondTheLimit) {
  CountingResource::Counts upstream;
  LimitingAdaptor limited{CountingResource(upstream), 1000};
  LimitingAdaptor copy = limited;
  StreamHandle const stream = default_stream();
  void* const pointer = limited.allocate(stream, 600);
  EXPECT_EQ(copy.in_use(), 600U);
  EXPECT_EQ(copy.limit(), 1000U);
  try {
    static_cast<void>(copy.allocate(stream, 401));
    FAIL();
  } catch (OutOfMemoryError const& error) {
    EXPECT_NE(std::string(error.what()).find("401"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("400"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("1000"), std::string::npos);
  }
  EXPECT_THROW(static_cast<void>(limited.allocate(stream, std::numeric_limits<std::size_t>::max())), OutOfMemoryError);
  EXPECT_EQ(upstream.allocations, 1);
  limited.deallocate(stream, limited.allocate_zeroed(stream, 400), 400);
  limited.deallocate(stream, pointer, 600);
  EXPECT_EQ(limited.in_use(), 0U);
}

TEST(LimitingAdaptor, FailedUpstreamAllocationIsNotCounted) {
  CountingResource::Counts upstream;
  LimitingAdaptor limited{CountingResource(upstream), 1000};
  upstream.failures = 1;
  EXPECT_THROW(static_cast<void>(limited.allocate(default_stream(), 1000)), OutOfMemoryError);
  EXPECT_EQ(limited.in_use(), 0U);
}

}  // namespace
}  // namespace memarray::test
