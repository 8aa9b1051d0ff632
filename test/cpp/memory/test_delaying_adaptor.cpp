#include <memarray/memory/delaying_adaptor.hpp>

#include <chrono>

#include "resource_suite.hpp"

namespace memarray::test {
namespace {

using namespace std::chrono_literals;

struct MakeDelaying {
  static MemoryResource make(MemoryResource upstream) { return DelayingAdaptor(std::move(upstream), 1us); }
  static constexpr bool uses_upstream = true;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Delaying, ResourceSuite, MakeDelaying);

TEST(DelayingAdaptorTest, DelaysAllocationAndDeallocation) {
  CountingResource::Counts upstream;
  DelayingAdaptor slow(CountingResource(upstream), 10ms);
  auto const start = std::chrono::steady_clock::now();
  void* const pointer = slow.allocate(default_stream(), 100);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 10ms);
  slow.deallocate(default_stream(), pointer, 100);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
  EXPECT_EQ(slow.delay(), 10ms);
  EXPECT_FALSE(slow == DelayingAdaptor(CountingResource(upstream), 5ms));
}

}  // namespace
}  // namespace memarray::test
