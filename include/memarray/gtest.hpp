#pragma once

#include <gtest/gtest.h>
#include <memarray/driver/simulated_devices.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace memarray::testing {

/// A GoogleTest fixture with simulated devices in place of real ones. After the members of derived fixtures are
/// destroyed, it fails the test for resources left behind, listed with their allocation sites, and for violations.
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

  /// Fails the test unless the next violation contains `part`. An expected violation does not fail the test at its end.
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
