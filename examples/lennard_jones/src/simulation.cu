#include "simulation.hpp"

#include "kernels.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace lennard_jones {

using memarray::for_each_index;
using memarray::overwrite;
using memarray::read;
using memarray::update;
using memarray::write;

namespace {

double side_of_box(Options const& options) {
  auto const cells = static_cast<double>(options.cells);
  return cells * std::cbrt(4.0 / options.density);
}

void require(bool holds, char const* what) {
  if (!holds) throw std::invalid_argument(std::string("Simulation: ") + what);
}

}  // namespace

Options const& Simulation::checked(Options const& options) {
  require(options.cells >= 1 && options.cells <= 1000, "cells must be from 1 to 1000");
  require(options.density > 0.0 && std::isfinite(options.density), "density must be positive");
  require(options.temperature >= 0.0 && std::isfinite(options.temperature), "temperature must not be negative");
  require(options.time_step > 0.0 && std::isfinite(options.time_step), "time_step must be positive");
  require(options.cutoff > 0.0 && std::isfinite(options.cutoff), "cutoff must be positive");
  return options;
}

Simulation::Simulation(Options const& options)
    : _options(checked(options)),
      _potential(options.shifted_force ? Potential::shifted_force(options.cutoff) : Potential::plain(options.cutoff)),
      _grid(CellGrid::around(side_of_box(options), options.cutoff)),
      positions({particles(), 3}),
      velocities({particles(), 3}),
      forces({particles(), 3}),
      energies({particles()}),
      virials({particles()}),
      density(_grid.shape()),
      _first_slot(_grid.shape()),
      _next_slot(_grid.shape()),
      _order({particles()}),
      _sorted({particles(), 3}),
      _mean({3}) {
  auto const stream = memarray::default_stream();
  for_each_index(positions, stream, FccLattice{_grid.box / static_cast<double>(_options.cells), _options.cells});
  for_each_index(velocities, stream, NormalVelocity{_options.seed});
  zero_momentum();
  set_temperature(_options.temperature);
  compute_forces();
}

void Simulation::step(std::int64_t count) {
  require(count >= 0, "count must not be negative");
  if (_stage != Stage::complete) finish_step();
  for (std::int64_t i = 0; i < count; ++i) {
    for_each_index(positions.get_shape(), memarray::default_stream(), KickAndDrift{_options.time_step}, read(forces),
                   update(velocities), update(positions));
    _stage = Stage::drifted;
    finish_step();
  }
}

void Simulation::finish_step() {
  if (_stage == Stage::drifted) compute_forces();
  _stage = Stage::forces_known;
  for_each_index(velocities.get_shape(), memarray::default_stream(), Kick{_options.time_step}, read(forces),
                 update(velocities));
  _stage = Stage::complete;
  ++_steps_done;
}

void Simulation::compute_forces() {
  sort_into_cells();
  // The loop runs over particles and sets all three components of each: a full write, which only the lease can say.
  memarray::WriteLease all_forces(forces, memarray::LeaseOptions{.discard = true});
  for_each_index(_order.get_shape(), memarray::default_stream(), PairForces{_grid, _potential}, read(_sorted),
                 read(_order), read(_first_slot), read(density), write(forces, all_forces.lock_id()),
                 overwrite(energies), overwrite(virials));
}

void Simulation::sort_into_cells() {
  auto const stream = memarray::default_stream();
  density.fill(0);
  for_each_index(_order.get_shape(), stream, CountParticles{_grid}, read(positions), write(density));
  memarray::exclusive_scan(density, _first_slot, stream);
  for_each_index(_grid.shape(), stream, CopyElement{}, read(_first_slot), overwrite(_next_slot));
  for_each_index(_order.get_shape(), stream, PlaceParticles{_grid}, read(positions), write(_next_slot),
                 overwrite(_order));
  for_each_index(_grid.shape(), stream, SortWithinCell{}, read(_first_slot), read(density), write(_order));
  for_each_index(_sorted.get_shape(), stream, GatherWrapped{_grid}, read(positions), read(_order), overwrite(_sorted));
}

void Simulation::zero_momentum() {
  auto const stream = memarray::default_stream();
  for_each_index(_mean.get_shape(), stream, MeanOfAxis{1}, read(velocities), overwrite(_mean));
  for_each_index(velocities.get_shape(), stream, SubtractMeanOfAxis{}, read(_mean), update(velocities));
}

double Simulation::temperature() {
  for_each_index(_mean.get_shape(), memarray::default_stream(), MeanOfAxis{2}, read(velocities), overwrite(_mean));
  auto const count = static_cast<double>(particles());
  return (_mean({0}) + _mean({1}) + _mean({2})) * count / (3.0 * (count - 1.0));
}

void Simulation::set_temperature(double target) {
  require(target >= 0.0 && std::isfinite(target), "temperature must not be negative");
  double const now = temperature();
  for_each_index(velocities, memarray::default_stream(), Scale{now > 0.0 ? std::sqrt(target / now) : 0.0});
}

double Simulation::potential_energy() const { return memarray::sum(energies, memarray::default_stream()); }

void Simulation::move_memory(DLDeviceType device_type, int device_id) {
  auto const move_all = [this](DLDeviceType type, int id) {
    auto const move = [=](auto&... arrays) { (arrays.move_memory(type, 0, id), ...); };
    move(positions, velocities, forces, energies, virials, density);
    move(_first_slot, _next_slot, _order, _sorted, _mean);
  };
  auto const [type_before, id_before] = positions.get_dlpack_device();
  try {
    move_all(device_type, device_id);
  } catch (...) {
    move_all(type_before, id_before);  // kernels want all arrays on one device
    throw;
  }
}

}  // namespace lennard_jones
