#include <memarray/memory/failing_adaptor.hpp>

#include "resource_suite.hpp"

namespace memarray::test {
namespace {

struct MakeFailing {
  static MemoryResource make(MemoryResource upstream) { return FailingAdaptor(std::move(upstream)); }
  static constexpr bool uses_upstream = true;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Failing, ResourceSuite, MakeFailing);

class FailingAdaptorTest : public ::testing::Test {
 protected:
  /// Returns, for each of the next allocations, whether it succeeds.
  std::string outcomes(int count) {
    std::string seen;
    for (int i = 0; i < count; ++i) try {
        failing.deallocate(stream, failing.allocate(stream, 100), 100);
        seen += '.';
      } catch (OutOfMemoryError const&) {
        seen += 'x';
      }
    return seen;
  }

  CountingResource::Counts upstream;
  FailingAdaptor failing{CountingResource(upstream)};
  StreamHandle stream = default_stream();
};

TEST_F(FailingAdaptorTest, FailsTheRequestedAllocations) {
  EXPECT_EQ(outcomes(3), "...");
  failing.fail(1);
  EXPECT_EQ(outcomes(3), "x..");
  failing.fail(3, 2);
  EXPECT_EQ(outcomes(6), "..xx..");
  EXPECT_EQ(failing.failures(), 3);
  EXPECT_EQ(upstream.blocks, 0) << "a refused allocation takes nothing";
}

TEST_F(FailingAdaptorTest, NewRequestReplacesTheOldOne) {
  failing.fail(5);
  failing.fail(2);
  EXPECT_EQ(outcomes(6), ".x....");
}

TEST_F(FailingAdaptorTest, CopiesShareTheRequest) {
  FailingAdaptor copy = failing;
  copy.fail(1);
  EXPECT_EQ(outcomes(2), "x.");
  EXPECT_EQ(copy.failures(), 1);
}

TEST_F(FailingAdaptorTest, CountsFromOne) {
  EXPECT_THROW(failing.fail(0), ValueError);
  EXPECT_THROW(failing.fail(1, 0), ValueError);
  EXPECT_EQ(outcomes(1), ".");
}

}  // namespace
}  // namespace memarray::test
