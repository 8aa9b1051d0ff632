#pragma once

#include <memarray/memarray.hpp>

#include <cstdint>

namespace gray_scott {

/// Two substances spread over a grid without edges and react, u + 2 v → 3 v, while u is fed and v is taken away: spots
/// and stripes grow from a seed (J. E. Pearson, "Complex Patterns in a Simple System", Science 261, 1993).
class Simulation {
 public:
  /// All u, with a square of v in the middle. Throws `memarray::ValueError` for fewer than 8 rows or columns.
  Simulation(std::int64_t rows, std::int64_t columns, double feed = 0.037, double kill = 0.06);

  /// One step of time, where the array is. Throws `memarray::LockError` if somebody holds it; then nothing has changed.
  void step();
  /// The mean of v; waits for what is under way.
  [[nodiscard]] double mean_v() const;
  /// To the CUDA device of that number, or, below zero, to the host. Throws `memarray::CudaError`.
  void move_to(int device_id);

  memarray::MemArray<double, 3> fields;  ///< u and v: (2, rows, columns)

 private:
  memarray::MemArray<double, 3> _next;
  double _feed;
  double _kill;
};

}  // namespace gray_scott
