#pragma once

#include <memarray/memarray.hpp>

#include <cmath>

namespace hydro {

constexpr double gamma = 1.4;  ///< ratio of specific heats: a diatomic gas

/// The conserved quantities per volume, or their fluxes. `along` and `across`: the momentum along an axis and across
/// it.
struct Conserved {
  double density, along, across, energy;

  friend MEMARRAY_HD Conserved operator+(Conserved const& a, Conserved const& b) {
    return {a.density + b.density, a.along + b.along, a.across + b.across, a.energy + b.energy};
  }
  friend MEMARRAY_HD Conserved operator-(Conserved const& a, Conserved const& b) {
    return {a.density - b.density, a.along - b.along, a.across - b.across, a.energy - b.energy};
  }
  friend MEMARRAY_HD Conserved operator*(double factor, Conserved const& a) {
    return {factor * a.density, factor * a.along, factor * a.across, factor * a.energy};
  }
};

/// The gas as an observer sees it. `along` and `across`: the velocity along an axis and across it.
struct Flow {
  double density, along, across, pressure;

  [[nodiscard]] MEMARRAY_HD double sound_speed() const { return std::sqrt(gamma * pressure / density); }
};

[[nodiscard]] MEMARRAY_HD inline Flow to_flow(Conserved const& gas) {
  double const along = gas.along / gas.density;
  double const across = gas.across / gas.density;
  double const kinetic = 0.5 * gas.density * (along * along + across * across);
  return {gas.density, along, across, (gamma - 1) * (gas.energy - kinetic)};
}

[[nodiscard]] MEMARRAY_HD inline double energy(Flow const& gas) {
  return gas.pressure / (gamma - 1) + 0.5 * gas.density * (gas.along * gas.along + gas.across * gas.across);
}

/// Exchanges the axis and the one across it.
template <class Gas>
[[nodiscard]] MEMARRAY_HD Gas turned(Gas gas) {
  double const along = gas.along;
  gas.along = gas.across;
  gas.across = along;
  return gas;
}

/// Returns the value halfway from a cell to the next one, with van Leer's slope: none at an extremum, so that no new
/// extremum appears.
[[nodiscard]] MEMARRAY_HD inline double halfway(double behind, double here, double ahead) {
  double const left = here - behind;
  double const right = ahead - here;
  return left * right > 0 ? here + left * right / (left + right) : here;
}
[[nodiscard]] MEMARRAY_HD inline Flow halfway(Flow const& behind, Flow const& here, Flow const& ahead) {
  return {halfway(behind.density, here.density, ahead.density), halfway(behind.along, here.along, ahead.along),
          halfway(behind.across, here.across, ahead.across), halfway(behind.pressure, here.pressure, ahead.pressure)};
}

/// Returns the flux along the axis between two states of the gas: the HLLC approximation of three waves (E. F. Toro,
/// "Riemann Solvers and Numerical Methods for Fluid Dynamics", chapter 10).
[[nodiscard]] MEMARRAY_HD inline Conserved flux_between(Flow const& left, Flow const& right) {
  double const sound_left = left.sound_speed();
  double const sound_right = right.sound_speed();
  double const wave_left = std::fmin(left.along - sound_left, right.along - sound_right);
  double const wave_right = std::fmax(left.along + sound_left, right.along + sound_right);
  double const mass_left = left.density * (wave_left - left.along);
  double const mass_right = right.density * (wave_right - right.along);
  double const contact = ((right.pressure - left.pressure) + (mass_left * left.along - mass_right * right.along)) /
                         (mass_left - mass_right);

  // The gas on one side of the contact flows through the face.
  bool const from_left = contact >= 0;
  Flow const& gas = from_left ? left : right;
  double const wave = from_left ? wave_left : wave_right;
  double density = gas.density, velocity = gas.along, pressure = gas.pressure, total = energy(gas);
  if (from_left ? wave < 0 : wave > 0) {  // compressed or expanded by the wave, which has passed the face
    density *= (wave - gas.along) / (wave - contact);
    velocity = contact;
    pressure += gas.density * (wave - gas.along) * (contact - gas.along);
    total = ((wave - gas.along) * total - gas.pressure * gas.along + pressure * contact) / (wave - contact);
  }
  double const mass = density * velocity;
  return {mass, mass * velocity + pressure, mass * gas.across, (total + pressure) * velocity};
}

}  // namespace hydro
