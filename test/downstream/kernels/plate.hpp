#pragma once

#include <memarray/memarray.hpp>

#include <complex>
#include <cstdint>

namespace heat {

/// Heat that spreads over a plate with cold edges, and particles that count where it is hot.
class Plate {
 public:
  Plate(std::int64_t rows, std::int64_t columns);

  /// Everything then runs on that device, in two streams in turn; −1: on the host.
  void move(int device_id);
  /// One step of diffusion into the other array: `read`, `overwrite`.
  void spread(double rate);
  /// Adds to each row's count how many of its elements are above `limit`: `read`, `write`.
  void count_above(double limit);
  /// Cools, and keeps how much heat was lost: two `update`s, of elements of different sizes.
  void cool(double factor);
  /// Rows from `first` on are heated; a lambda, and 64-bit indices.
  void heat(std::int64_t first, double by);
  [[nodiscard]] double total() const;
  /// False for the kernel that the C++ compiler compiled.
  [[nodiscard]] bool is_compiled_by_nvcc() const;

  memarray::MemArray<double, 2> temperature;
  memarray::MemArray<float, 2> lost;
  memarray::MemArray<std::int64_t, 1> counts;

 private:
  memarray::StreamHandle const& next_stream();

  memarray::MemArray<double, 2> _other;
  memarray::StreamHandle _streams[2];
  int _turn = 0;
};

/// Complex numbers in a file of kernels: the total of `waves` and of their running sums, on the host.
[[nodiscard]] std::complex<double> total_of_sums(memarray::MemArray<std::complex<double>, 1>& waves);

}  // namespace heat
