#include "simulation.hpp"

#include <gtest/gtest.h>
#include <memarray/gtest.hpp>

namespace {

using gray_scott_core::Simulation;

TEST(Simulation, StaysAsItIsWithoutV) {
  Simulation simulation(16, 16);
  simulation.fields.fill(0);
  for (int i = 0; i < 10; ++i) simulation.step();
  EXPECT_EQ(simulation.mean_v(), 0);
}

TEST(Simulation, SettlesWhereItIsFed) {
  Simulation simulation(16, 16);
  EXPECT_EQ(simulation.largest_change(), 0);
  simulation.fields.fill(0);
  simulation.step();
  double const first = simulation.largest_change();
  EXPECT_NEAR(first, 0.037, 1e-15);  // u alone: `feed` at first, ever less later
  simulation.step();
  EXPECT_LT(simulation.largest_change(), first);
}

TEST(Simulation, IsSymmetricAsItsSeed) {
  Simulation simulation(32, 32);
  for (int i = 0; i < 50; ++i) simulation.step();
  memarray::ReadLease const lease(simulation.fields);
  auto const fields = lease.indexer();
  for (std::int64_t i = 0; i < 32; ++i)
    for (std::int64_t j = 0; j < 32; ++j) {
      // Not exact: the neighbours are added in a different order.
      EXPECT_NEAR((fields[{1, i, j}]), (fields[{1, 31 - i, j}]), 1e-12);
      EXPECT_NEAR((fields[{1, i, j}]), (fields[{1, j, i}]), 1e-12);
    }
}

TEST(Simulation, IsNotSteppedUnderALease) {
  Simulation simulation(8, 8);
  memarray::ReadLease const lease(simulation.fields);
  EXPECT_THROW(simulation.step(), memarray::LockError);
}

TEST(Simulation, RefusesAGridThatIsTooSmall) { EXPECT_THROW(Simulation(64, 7), memarray::ValueError); }

class OnDevices : public memarray::testing::SimulatedDevicesTest {};

TEST_F(OnDevices, ComputesTheSame) {
  Simulation here(16, 24);
  Simulation there(16, 24);
  there.move_to(0);
  for (int i = 0; i < 10; ++i) {
    here.step();
    there.step();
  }
  EXPECT_NEAR(there.mean_v(), here.mean_v(), 1e-14);
  there.move_to(-1);
}

}  // namespace
