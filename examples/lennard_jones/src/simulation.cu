#include "simulation.hpp"

#include "kernels.hpp"

#include <memarray/driver/last_error.hpp>

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
      _cell_of_slot({particles()}),
      _order({particles()}),
      _sorted({particles(), 3}),
      _mean({3}) {
  for_each_index(positions, _stream, FccLattice{_grid.box / static_cast<double>(_options.cells), _options.cells});
  for_each_index(velocities, _stream, NormalVelocity{_options.seed});
  zero_momentum();
  set_temperature(_options.temperature);
  compute_forces();
}

void Simulation::step(std::int64_t count) {
  require(count >= 0, "count must not be negative");
  come_back();
  if (_stage != Stage::complete) finish_step();
  for (std::int64_t i = 0; i < count; ++i) {
    for_each_index(positions.get_shape(), _stream, KickAndDrift{_options.time_step}, read(forces), update(velocities),
                   update(positions));
    _stage = Stage::drifted;
    finish_step();
  }
}

void Simulation::finish_step() {
  if (_stage == Stage::drifted) compute_forces();
  _stage = Stage::forces_known;
  for_each_index(velocities.get_shape(), _stream, Kick{_options.time_step}, read(forces), update(velocities));
  _stage = Stage::complete;
  ++_steps_done;
}

void Simulation::compute_forces() {
  come_back();
  sort_into_cells();
  // Each particle's iteration sets a row of `forces`.
  for_each_index(_order.get_shape(), _stream, PairForces{_grid, _potential}, read(_sorted), read(_order),
                 read(_first_slot), read(density), overwrite(forces), overwrite(energies), overwrite(virials));
}

void Simulation::sort_into_cells() {
  for_each_index(_order.get_shape(), _stream, NumberParticles{_grid}, read(positions), overwrite(_cell_of_slot),
                 overwrite(_order));
  memarray::sort_by_key(_cell_of_slot, _order, _stream);
  for_each_index(_grid.shape(), _stream, FindSlots{_grid}, read(_cell_of_slot), overwrite(_first_slot),
                 overwrite(density));
  for_each_index(_sorted.get_shape(), _stream, GatherWrapped{_grid}, read(positions), read(_order), overwrite(_sorted));
}

void Simulation::zero_momentum() {
  come_back();
  for_each_index(_mean.get_shape(), _stream, MeanOfAxis{1}, read(velocities), overwrite(_mean));
  for_each_index(velocities.get_shape(), _stream, SubtractMeanOfAxis{}, read(_mean), update(velocities));
}

double Simulation::temperature() {
  come_back();
  for_each_index(_mean.get_shape(), _stream, MeanOfAxis{2}, read(velocities), overwrite(_mean));
  auto const count = static_cast<double>(particles());
  return (_mean({0}) + _mean({1}) + _mean({2})) * count / (3.0 * (count - 1.0));
}

void Simulation::set_temperature(double target) {
  require(target >= 0.0 && std::isfinite(target), "temperature must not be negative");
  double const now = temperature();
  for_each_index(velocities, _stream, Scale{now > 0.0 ? std::sqrt(target / now) : 0.0});
}

double Simulation::potential_energy() const { return memarray::sum(energies, _stream); }

void Simulation::move_memory(DLDeviceType device_type, int device_id) {
  memarray::Device const before = _device;
  try {
    for_all([&](auto& array) { array.move_memory(device_type, 0, device_id); });
    if (device_type == kDLCUDA && (_device.type != device_type || _device.id != device_id)) {
      _stream = memarray::create_stream_handle(memarray::get_primary_context(device_id));
      if (!_stream) memarray::throw_last_error("making the simulation's stream");
    }
  } catch (...) {
    // Kernels need all arrays on one device.
    if (!_stream) _stream = memarray::default_stream();
    for_all([&](auto& array) { array.move_memory(before.type, 0, before.id); });
    throw;
  }
  _device = {device_type, device_id};
  if (device_type == kDLCPU) _stream = memarray::default_stream();
}

void Simulation::come_back() {
  for_all([this](auto& array) {
    auto const [type, id] = array.get_dlpack_device();
    if (type != _device.type || id != _device.id) array.move_memory(_device.type, 0, _device.id);
  });
}

}  // namespace lennard_jones
