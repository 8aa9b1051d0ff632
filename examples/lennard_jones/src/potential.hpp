#pragma once

#include <memarray/memarray.hpp>

#include <cmath>

namespace lennard_jones {

/// The contribution of one pair. The force on `i` is `force_over_r * (r_i - r_j)`.
struct PairTerm {
  double energy;
  double force_over_r;
};

/// The Lennard-Jones pair potential in reduced units (sigma = epsilon = mass = 1), cut at `cutoff`.
///
/// `plain` truncates at the cut-off; use it for lattice sums, to which a tail correction is added. `shifted_force`
/// subtracts a straight line so that energy and force both reach zero at the cut-off. No particle is kicked when it
/// crosses, which conserves energy in molecular dynamics.
struct Potential {
  double cutoff;
  double cutoff_squared;
  double energy_at_cutoff;
  double force_at_cutoff;

  static Potential plain(double cutoff) { return {cutoff, cutoff * cutoff, 0.0, 0.0}; }

  static Potential shifted_force(double cutoff) {
    PairTerm const at_cutoff = plain(cutoff)(cutoff * cutoff);
    return {cutoff, cutoff * cutoff, at_cutoff.energy, at_cutoff.force_over_r * cutoff};
  }

  MEMARRAY_HD PairTerm operator()(double r_squared) const {
    double const r = std::sqrt(r_squared);
    double const inverse_r = 1.0 / r;
    double const inverse_2 = inverse_r * inverse_r;
    double const inverse_6 = inverse_2 * inverse_2 * inverse_2;
    double const energy = 4.0 * inverse_6 * (inverse_6 - 1.0);
    double const force = 24.0 * inverse_6 * (2.0 * inverse_6 - 1.0) * inverse_r;
    return {energy - energy_at_cutoff + (r - cutoff) * force_at_cutoff, (force - force_at_cutoff) * inverse_r};
  }
};

}  // namespace lennard_jones
