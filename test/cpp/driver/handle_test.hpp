#pragma once

#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include <gtest/gtest.h>

#include <string>

namespace memarray::test {

/// A fixture with two simulated devices. A leaked resource or a violation fails the test.
class HandleTest : public ::testing::Test {
 protected:
  ~HandleTest() override {
    EXPECT_EQ(devices.live(), testing::LiveResources());
    EXPECT_TRUE(devices.violations().empty()) << devices.violations().front();
  }
  void SetUp() override { clear_last_error(); }

  /// Returns the number of calls of a driver function during `action`.
  template <class Action>
  std::uint64_t calls_in(std::string_view function, Action const& action) {
    std::uint64_t const before = devices.calls(function);
    action();
    return devices.calls(function) - before;
  }

  testing::SimulatedDevices devices;
};

}  // namespace memarray::test
