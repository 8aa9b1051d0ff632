#pragma once

#include "cell_grid.hpp"
#include "potential.hpp"

#include <memarray/memarray.hpp>

#include <cstdint>

namespace lennard_jones {

/// Options in reduced units: lengths in sigma, energies in epsilon, masses 1.
struct Options {
  std::int64_t cells = 6;     ///< cubic FCC cells along each side: 4 cells^3 particles
  double density = 0.8442;    ///< particles per volume
  double temperature = 1.44;  ///< initial temperature; a crystal loses half of it when it melts
  double time_step = 0.002;
  double cutoff = 2.5;
  bool shifted_force = true;  ///< false: the plain, truncated potential
  std::uint64_t seed = 1;
};

/// Lennard-Jones molecular dynamics in a periodic cube, starting from a perfect FCC crystal.
///
/// The arrays are public members. Between two steps Python may lease them, keep views of them, or write into them (and
/// then call `compute_forces`). An escaped view keeps its contents: the next step writes a new version and copies
/// nothing.
class Simulation {
 public:
  explicit Simulation(Options const& options);

  /// Runs `count` velocity Verlet steps. The result depends on the state only, not on the number of threads. If a
  /// conflicting lease stops a step halfway (`LockError`), the next call first finishes that step; `step(0)` does
  /// nothing else.
  void step(std::int64_t count);

  /// Updates `forces`, `energies`, `virials` and `density` from `positions`.
  void compute_forces();

  /// Scales the velocities to a kinetic temperature. Call `zero_momentum` first to stop the motion of the whole
  /// crystal.
  void set_temperature(double temperature);
  void zero_momentum();

  /// Returns the kinetic temperature with three degrees of freedom fewer, because the centre of mass is at rest.
  double temperature();
  double potential_energy() const;

  /// Moves every array to a device or to the host. All later work runs there, in the simulation's own stream. Arrays
  /// accessed elsewhere since then move back automatically; only data written elsewhere is copied.
  void move_memory(DLDeviceType device_type, int device_id = 0);

  Options const& options() const noexcept { return _options; }
  std::int64_t particles() const noexcept { return 4 * _options.cells * _options.cells * _options.cells; }
  double box() const noexcept { return _grid.box; }
  std::int64_t steps_done() const noexcept { return _steps_done; }
  void set_steps_done(std::int64_t steps) noexcept { _steps_done = steps; }

 private:
  enum class Stage { complete, drifted, forces_known };

  /// Calls `visit` with each array, in no particular order.
  template <class Visit>
  void for_all(Visit const& visit) {
    auto const each = [&](auto&... arrays) { (visit(arrays), ...); };
    each(positions, velocities, forces, energies, virials, density);
    each(_first_slot, _cell_of_slot, _order, _sorted, _mean);
  }

  static Options const& checked(Options const& options);
  void come_back();
  void sort_into_cells();
  void finish_step();

  Options _options;
  Potential _potential;
  CellGrid _grid;
  std::int64_t _steps_done = 0;
  Stage _stage = Stage::complete;
  memarray::Device _device;
  memarray::StreamHandle _stream = memarray::default_stream();

 public:
  memarray::MemArray<double, 2> positions;  ///< not wrapped into the box, so that displacements can be measured
  memarray::MemArray<double, 2> velocities;
  memarray::MemArray<double, 2> forces;
  memarray::MemArray<double, 1> energies;       ///< half of each pair's energy, per particle
  memarray::MemArray<double, 1> virials;        ///< half of each pair's r F(r), per particle
  memarray::MemArray<std::int64_t, 3> density;  ///< particles in each cell of the cell list

 private:
  memarray::MemArray<std::int64_t, 3> _first_slot;
  memarray::MemArray<std::int64_t, 1> _cell_of_slot;
  memarray::MemArray<std::int64_t, 1> _order;
  memarray::MemArray<double, 2> _sorted;
  memarray::MemArray<double, 1> _mean;
};

}  // namespace lennard_jones
