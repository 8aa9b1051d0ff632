#pragma once

#include <memarray/memarray.hpp>

#include <cstdint>

namespace gray_scott_core {

/// A reaction u + 2 v → 3 v of two diffusing substances on a periodic grid. u is fed and v is removed, so that spots
/// and stripes grow from a seed. Source: J. E. Pearson, "Complex Patterns in a Simple System", Science 261, 1993.
class Simulation {
 public:
  /// Fills the grid with u and puts a square of v in the middle. Throws `memarray::ValueError` for fewer than 8 rows or
  /// columns.
  Simulation(std::int64_t rows, std::int64_t columns, double feed = 0.037, double kill = 0.06);

  /// Runs one time step on the array's device. Throws `memarray::LockError` if another lease conflicts; the fields are
  /// then unchanged.
  void step();
  /// Returns the mean of v. Waits for pending work.
  [[nodiscard]] double mean_v() const;
  /// Returns the largest difference between the fields and those before the last step; 0 before the first. Waits for
  /// pending work.
  [[nodiscard]] double largest_change() const;
  /// Moves the fields to CUDA device `device_id`, or to the host if it is negative. Throws `memarray::CudaError`.
  void move_to(int device_id);

  memarray::MemArray<double, 3> fields;  ///< u and v: (2, rows, columns)

 private:
  memarray::MemArray<double, 3> _next;
  double _feed;
  double _kill;
};

}  // namespace gray_scott_core
