#pragma once

#include "euler.hpp"

#include <memarray/memarray.hpp>

#include <cstdint>
#include <limits>

namespace hydro {

/// The border of the box.
enum class Border { closed, periodic };

/// A gas in a box of `rows` by `columns` square cells: the Euler equations in two dimensions. The method is finite
/// volumes of second order (MUSCL with van Leer's limiter, HLLC fluxes, Heun's method in time).
class Simulation {
 public:
  /// Fills the box with gas at rest, of density and pressure 1. Throws `memarray::ValueError` for fewer than 2 rows or
  /// columns, or a width of cells that is not positive.
  Simulation(std::int64_t rows, std::int64_t columns, double width, Border border);

  /// Runs one step in time, as long as is stable, or up to the time `end`. On a device it submits work and does not
  /// wait. Throws `memarray::LockError` if another lease conflicts; `cells` and the time are then unchanged.
  void step(double end = std::numeric_limits<double>::infinity());

  /// Returns the time. Waits for pending work.
  [[nodiscard]] double time() const;
  /// Returns mass, momentum and energy in the box. Waits for pending work.
  [[nodiscard]] Conserved total() const;
  /// Moves the arrays to CUDA device `device_id`, or to the host if it is negative. Throws `memarray::CudaError`.
  void move_to(int device_id);

  /// (rows, columns, 4): density, momentum along the columns (x) and the rows (y), energy, per volume.
  memarray::MemArray<double, 3> cells;

 private:
  void surround(memarray::MemArray<double, 3> const& from);
  void advance(memarray::MemArray<double, 3> const& from, double kept, memarray::MemArray<double, 3>& to, double end);

  std::int64_t _rows, _columns;
  double _width;
  Border _border;
  memarray::MemArray<double, 3> _flow;  ///< density, velocities, pressure; with two more cells at each border
  memarray::MemArray<double, 3> _middle;
  memarray::MemArray<double, 3> _next;
  memarray::MemArray<double, 1> _fastest;  ///< one element, where the cells are: no step waits for it
  memarray::MemArray<double, 1> _time;     ///< likewise
};

}  // namespace hydro
