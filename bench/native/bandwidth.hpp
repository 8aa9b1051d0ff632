#pragma once

#include <memarray/memarray.hpp>

#include <array>
#include <cstdint>

/// The arrays of the six kernels. All models use the same memory, so its pages decide nothing.
struct Fields {
  memarray::MemArray<double, 1> array_a, array_b, array_c;
  memarray::StreamHandle stream = memarray::default_stream();
  double *a, *b, *c;
  std::int64_t size;
  int threads;

  Fields(std::int64_t elements, int thread_count)
      : array_a({elements}),
        array_b({elements}),
        array_c({elements}),
        a(array_a.ptr()),
        b(array_b.ptr()),
        c(array_c.ptr()),
        size(elements),
        threads(thread_count) {}
};

inline constexpr double scalar = 0.4;
inline constexpr std::array<char const*, 6> kernel_names = {"copy", "mul", "add", "triad", "dot", "nstream"};

/// The kernels in the order of `kernel_names`. `dot` returns its value, the others 0.
using Kernels = std::array<double (*)(Fields&), 6>;

extern Kernels const openmp_kernels, algorithm_kernels, kokkos_kernels;

/// Sets the threads of a model that has a setting of the process.
void start_algorithms(int threads);
void start_kokkos(int threads);
void stop_kokkos();
