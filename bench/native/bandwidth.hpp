#pragma once

#include <array>
#include <cstdint>

struct Arrays;  // memarray's: other models are compiled without its headers

/// The arrays of the kernels. All models use the same memory, so that its pages make no difference.
struct Fields {
  Arrays& arrays;
  double *a, *b, *c;
  std::int64_t size;
  int threads;
};

inline constexpr double scalar = 0.4;
inline constexpr std::array<char const*, 7> kernel_names = {"copy", "mul", "add", "triad", "dot", "sum", "nstream"};

/// The kernels in the order of `kernel_names`. `dot` and `sum` return their value, the others 0.
using Kernels = std::array<double (*)(Fields&), kernel_names.size()>;

extern Kernels const memarray_kernels, openmp_kernels, algorithm_kernels, kokkos_kernels;
double transformed_by_memarray(Fields&);

/// Sets the threads of a model that has a setting of the process.
void start_algorithms(int threads);
void start_kokkos(int threads);
void stop_kokkos();
