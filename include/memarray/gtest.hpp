#pragma once

#include <gtest/gtest.h>
#include <memarray/driver/simulated_devices.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace memarray::testing {

/// A GoogleTest fixture with simulated devices. Once the members of derived fixtures are destroyed, violations and live
/// resources (listed with their allocation sites) fail the test.
class SimulatedDevicesTest : public ::testing::Test {
 protected:
  /// Throws like the constructor of `SimulatedDevices`.
  explicit SimulatedDevicesTest(SimulatedOptions const& options = {}) : sim(options) {}
  ~SimulatedDevicesTest() override {
    sim.end();
    EXPECT_EQ(sim.live(), LiveResources()) << ::testing::PrintToString(sim.live_resources());
    std::vector<std::string> const violations = sim.violations();
    EXPECT_EQ(violations.size(), _expected) << ::testing::PrintToString(violations);
  }

  /// Expects one more violation, which must contain `part` and then does not fail the test.
  void expect_violation(std::string const& part) {
    std::vector<std::string> const violations = sim.violations();
    ASSERT_GT(violations.size(), _expected) << "no violation: " << part;
    EXPECT_NE(violations[_expected].find(part), std::string::npos) << violations[_expected];
    ++_expected;
  }

  SimulatedDevices sim;  ///< counters, live resources and injected failures

 private:
  std::size_t _expected = 0;
};

}  // namespace memarray::testing
