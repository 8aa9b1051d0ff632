#pragma once

#include <gtest/gtest.h>
#include <memarray/driver/simulated_devices.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace memarray::testing {

/// A GoogleTest fixture with simulated devices, in place of any real ones while a test runs. The test fails if it
/// leaves resources behind, each named with where it was made, or if it did what no program may do. For both, what the
/// fixture's own class keeps is gone by then.
///
///     class PlateTest : public memarray::testing::SimulatedDevicesTest {
///      protected:
///       PlateTest() : SimulatedDevicesTest({.count = 4}) {}
///       Plate plate;
///     };
class SimulatedDevicesTest : public ::testing::Test {
 protected:
  /// Throws as `SimulatedDevices` does.
  explicit SimulatedDevicesTest(SimulatedOptions const& options = {}) : sim(options) {}
  ~SimulatedDevicesTest() override {
    sim.end();
    EXPECT_EQ(sim.live(), LiveResources()) << ::testing::PrintToString(sim.live_resources());
    std::vector<std::string> const violations = sim.violations();
    EXPECT_EQ(violations.size(), _expected) << ::testing::PrintToString(violations);
  }

  /// That the next violation is there and says `part`. It is then not held against the test.
  void expect_violation(std::string const& part) {
    std::vector<std::string> const violations = sim.violations();
    ASSERT_GT(violations.size(), _expected) << "no violation: " << part;
    EXPECT_NE(violations[_expected].find(part), std::string::npos) << violations[_expected];
    ++_expected;
  }

  SimulatedDevices sim;  ///< what was counted, what is live, what is to fail

 private:
  std::size_t _expected = 0;
};

}  // namespace memarray::testing
