#pragma once

#include <gtest/gtest.h>
#include <memarray/driver/simulated_devices.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace memarray::testing {

/// A GoogleTest fixture with simulated devices, which replace real devices while a test runs. The test fails if it
/// leaves resources behind, each listed with its allocation site, or if it caused violations. Both checks run in this
/// destructor, after the members of derived fixtures are destroyed.
///
///     class PlateTest : public memarray::testing::SimulatedDevicesTest {
///      protected:
///       PlateTest() : SimulatedDevicesTest({.count = 4}) {}
///       Plate plate;
///     };
class SimulatedDevicesTest : public ::testing::Test {
 protected:
  /// Throws what the constructor of `SimulatedDevices` throws.
  explicit SimulatedDevicesTest(SimulatedOptions const& options = {}) : sim(options) {}
  ~SimulatedDevicesTest() override {
    sim.end();
    EXPECT_EQ(sim.live(), LiveResources()) << ::testing::PrintToString(sim.live_resources());
    std::vector<std::string> const violations = sim.violations();
    EXPECT_EQ(violations.size(), _expected) << ::testing::PrintToString(violations);
  }

  /// Fails the test unless the next violation exists and its text contains `part`. An expected violation does not fail
  /// the test at its end.
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
