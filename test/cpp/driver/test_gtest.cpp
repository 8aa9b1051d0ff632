// The fixture for users' own tests: the conditions under which it fails and passes.

#include <gtest/gtest-spi.h>
#include <memarray/driver/stream_handle.hpp>
#include <memarray/gtest.hpp>

#include <optional>

#include "simulated_driver.hpp"

namespace memarray {
namespace {

class Fixture : public testing::SimulatedDevicesTest {
 public:
  explicit Fixture(testing::SimulatedOptions const& options = {}) : SimulatedDevicesTest(options) {}
  using SimulatedDevicesTest::expect_violation;
  using SimulatedDevicesTest::sim;
  void TestBody() override {}
};

StreamHandle* left_behind = nullptr;

void leave_a_stream() {
  Fixture const fixture;
  testing::detail::set_allocation_site("plate.cpp:12");
  left_behind = new StreamHandle(create_stream_handle(get_primary_context(0)));
  testing::detail::set_allocation_site(nullptr);
}

void destroy_a_stream_twice(bool expected) {
  Fixture fixture;
  DriverTable const& cuda = *fixture.sim.table();
  ContextHandle const context = get_primary_context(0);
  detail::ContextScope const scope(context);
  cu::Stream stream = nullptr;
  EXPECT_OK(cuda.cuStreamCreateWithPriority(&stream, 1, 0));
  EXPECT_OK(cuda.cuStreamDestroy(stream));
  EXPECT_NE(cuda.cuStreamDestroy(stream), 0);
  if (expected) fixture.expect_violation("cuStreamDestroy");
}

TEST(SimulatedDevicesTestTest, SimulatedDevicesAreTheDriverDuringATest) {
  Fixture const fixture({.count = 3});
  EXPECT_EQ(driver(), fixture.sim.table());
  EXPECT_EQ(device_count(), 3);
}

TEST(SimulatedDevicesTestTest, LeakedResourceFailsTheTestAndNamesItsAllocationSite) {
  EXPECT_NONFATAL_FAILURE(leave_a_stream(), "plate.cpp:12");
  delete left_behind;
}

TEST(SimulatedDevicesTestTest, ViolationFailsTheTestUnlessExpected) {
  EXPECT_NONFATAL_FAILURE(destroy_a_stream_twice(false), "cuStreamDestroy");
  destroy_a_stream_twice(true);
}

TEST(ScopedTest, AFailedReleaseFailsTheTest) {
  EXPECT_NONFATAL_FAILURE(Scoped<int> const resource(7, [](int) { return 2; }), "end of the resource's scope");
}

class MembersTest : public testing::SimulatedDevicesTest {
 protected:
  StreamHandle stream = create_stream_handle(get_primary_context(0));
};

TEST_F(MembersTest, MembersAreDestroyedBeforeTheLeakCheck) { EXPECT_EQ(sim.live().streams, 1); }

}  // namespace
}  // namespace memarray
