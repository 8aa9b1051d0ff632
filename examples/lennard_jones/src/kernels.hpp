#pragma once

#include "cell_grid.hpp"
#include "potential.hpp"

#include <memarray/memarray.hpp>

#include <cmath>
#include <cstdint>

/// Functors on one element or particle, for `memarray::for_each_index`. One source runs on host threads when compiled
/// by g++ and as CUDA kernels when compiled by nvcc.
namespace lennard_jones {

template <int ndim>
using At = cuda::std::array<std::int64_t, ndim>;
template <class T, int ndim>
using In = memarray::ArrayIndexer<T const, ndim>;
template <class T, int ndim>
using Out = memarray::ArrayIndexer<T, ndim>;

/// A lattice of four particles in each cubic cell, away from the cell walls so that rounding cannot move one across.
struct FccLattice {
  double spacing;
  std::int64_t cells;

  MEMARRAY_HD void operator()(double& coordinate, At<2> at) const {
    std::int64_t const basis = at[0] % 4;
    std::int64_t cell = at[0] / 4;
    for (std::int64_t axis = 2; axis > at[1]; --axis) cell /= cells;
    bool const on_face = basis != 0 && basis - 1 != at[1];
    coordinate = spacing * (static_cast<double>(cell % cells) + (on_face ? 0.75 : 0.25));
  }
};

/// Normally distributed numbers that depend on seed and index only. Any number of threads, or a device, draws identical
/// numbers (splitmix64 of a counter, then the Box-Muller transform).
struct NormalVelocity {
  std::uint64_t seed;

  MEMARRAY_HD double uniform(std::uint64_t counter) const {
    std::uint64_t z = seed * 0xD1342543DE82EF95ULL + (counter + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    return (static_cast<double>(z >> 11) + 0.5) * 0x1p-53;
  }

  MEMARRAY_HD void operator()(double& velocity, At<2> at) const {
    auto const counter = static_cast<std::uint64_t>(at[0] * 3 + at[1]) * 2;
    double const two_pi = 6.283185307179586;
    velocity = std::sqrt(-2.0 * std::log(uniform(counter))) * std::cos(two_pi * uniform(counter + 1));
  }
};

/// The mean of one axis, added in particle order, so that the result does not depend on the number of threads.
struct MeanOfAxis {
  int power;

  MEMARRAY_HD void operator()(At<1> axis, In<double, 2> values, Out<double, 1> mean) const {
    double total = 0.0;
    for (std::int64_t i = 0; i < values.shape()[0]; ++i) {
      double const value = values[{i, axis[0]}];
      total += power == 2 ? value * value : value;
    }
    mean[axis] = total / static_cast<double>(values.shape()[0]);
  }
};

struct SubtractMeanOfAxis {
  MEMARRAY_HD void operator()(At<2> at, In<double, 1> mean, double& value) const { value -= mean[{at[1]}]; }
};

struct Scale {
  double factor;

  MEMARRAY_HD void operator()(double& value, At<2>) const { value *= factor; }
};

/// The first half of a velocity Verlet step: half a kick, then the drift with the new velocity.
struct KickAndDrift {
  double time_step;

  MEMARRAY_HD void operator()(At<2> at, In<double, 2> forces, double& velocity, double& position) const {
    velocity += 0.5 * time_step * forces[at];
    position += time_step * velocity;
  }
};

/// The second half of a velocity Verlet step: half a kick with the new forces.
struct Kick {
  double time_step;

  MEMARRAY_HD void operator()(At<2> at, In<double, 2> forces, double& velocity) const {
    velocity += 0.5 * time_step * forces[at];
  }
};

MEMARRAY_HD inline CellGrid::Cell cell_of_particle(CellGrid const& grid, In<double, 2> const& positions,
                                                   std::int64_t i) {
  return {grid.cell_of(grid.wrap(positions[{i, 0}])), grid.cell_of(grid.wrap(positions[{i, 1}])),
          grid.cell_of(grid.wrap(positions[{i, 2}]))};
}

/// A kernel that sets each slot to the particle of its number, and to the number of that particle's cell in C order.
struct NumberParticles {
  CellGrid grid;

  MEMARRAY_HD void operator()(At<1> i, In<double, 2> positions, Out<std::int64_t, 1> cell_of_slot,
                              Out<std::int64_t, 1> order) const {
    auto const [a, b, c] = cell_of_particle(grid, positions, i[0]);
    cell_of_slot[i] = (a * grid.per_side + b) * grid.per_side + c;
    order[i] = i[0];
  }
};

/// A kernel that finds the slots of each cell, once they are sorted by cell.
struct FindSlots {
  CellGrid grid;

  /// Returns the first slot of this cell or a later one.
  MEMARRAY_HD static std::int64_t first_of(In<std::int64_t, 1> const& cell_of_slot, std::int64_t cell) {
    std::int64_t first = 0;
    for (std::int64_t count = cell_of_slot.shape()[0]; count > 0;) {
      std::int64_t const half = count / 2;
      bool const is_before = cell_of_slot[{first + half}] < cell;
      first = is_before ? first + half + 1 : first;
      count = is_before ? count - half - 1 : half;
    }
    return first;
  }

  MEMARRAY_HD void operator()(At<3> at, In<std::int64_t, 1> cell_of_slot, Out<std::int64_t, 3> first_slot,
                              Out<std::int64_t, 3> density) const {
    std::int64_t const cell = (at[0] * grid.per_side + at[1]) * grid.per_side + at[2];
    std::int64_t const first = first_of(cell_of_slot, cell);
    std::int64_t end = first;
    while (end < cell_of_slot.size() && cell_of_slot[{end}] == cell) ++end;
    first_slot[at] = first;
    density[at] = end - first;
  }
};

/// A kernel that copies positions in cell order. Neighbours are adjacent in the copy, so the force loop reads memory in
/// order.
struct GatherWrapped {
  CellGrid grid;

  MEMARRAY_HD void operator()(At<2> at, In<double, 2> positions, In<std::int64_t, 1> order,
                              Out<double, 2> sorted) const {
    sorted[at] = grid.wrap(positions[{order[{at[0]}], at[1]}]);
  }
};

/// A kernel that computes the force on one particle and its half of each pair's energy and virial. Each pair is visited
/// from both ends, so that no two particles write to one place. The two visits give exactly opposite forces.
struct PairForces {
  CellGrid grid;
  Potential potential;

  MEMARRAY_HD void operator()(At<1> slot, In<double, 2> sorted, In<std::int64_t, 1> order,
                              In<std::int64_t, 3> first_slot, In<std::int64_t, 3> density, Out<double, 2> forces,
                              Out<double, 1> energies, Out<double, 1> virials) const {
    std::int64_t const self = slot[0];
    double const x = sorted[{self, 0}];
    double const y = sorted[{self, 1}];
    double const z = sorted[{self, 2}];
    double force_x = 0.0, force_y = 0.0, force_z = 0.0, energy = 0.0, virial = 0.0;

    CellGrid::Cell const home = {grid.cell_of(x), grid.cell_of(y), grid.cell_of(z)};
    for (std::int64_t a = home[0] - grid.reach; a <= home[0] + grid.reach; ++a) {
      std::int64_t const image_a = grid.image_of(a);
      double const shift_x = static_cast<double>(image_a) * grid.box;
      for (std::int64_t b = home[1] - grid.reach; b <= home[1] + grid.reach; ++b) {
        std::int64_t const image_b = grid.image_of(b);
        double const shift_y = static_cast<double>(image_b) * grid.box;
        for (std::int64_t c = home[2] - grid.reach; c <= home[2] + grid.reach; ++c) {
          std::int64_t const image_c = grid.image_of(c);
          double const shift_z = static_cast<double>(image_c) * grid.box;
          CellGrid::Cell const cell = {a - image_a * grid.per_side, b - image_b * grid.per_side,
                                       c - image_c * grid.per_side};
          std::int64_t const first = first_slot[cell];
          std::int64_t const end = first + density[cell];
          for (std::int64_t other = first; other < end; ++other) {
            double const dx = (x - sorted[{other, 0}]) - shift_x;
            double const dy = (y - sorted[{other, 1}]) - shift_y;
            double const dz = (z - sorted[{other, 2}]) - shift_z;
            double const r_squared = dx * dx + dy * dy + dz * dz;
            // Zero is the particle itself; its own images in a small box do count.
            if (r_squared >= potential.cutoff_squared || r_squared == 0.0) continue;
            PairTerm const pair = potential(r_squared);
            force_x += pair.force_over_r * dx;
            force_y += pair.force_over_r * dy;
            force_z += pair.force_over_r * dz;
            energy += 0.5 * pair.energy;
            virial += 0.5 * pair.force_over_r * r_squared;
          }
        }
      }
    }

    std::int64_t const particle = order[{self}];
    forces[{particle, 0}] = force_x;
    forces[{particle, 1}] = force_y;
    forces[{particle, 2}] = force_z;
    energies[{particle}] = energy;
    virials[{particle}] = virial;
  }
};

}  // namespace lennard_jones
