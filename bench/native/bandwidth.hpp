#pragma once

#include <memarray/memarray.hpp>

#include <array>
#include <cstdint>

struct Arrays {
  memarray::MemArray<double, 1> a, b, c;

  explicit Arrays(std::int64_t elements) : a({elements}), b({elements}), c({elements}) {}
};

/// The arrays of the kernels. All models use the same memory, so its pages decide nothing.
struct Fields {
  memarray::MemArray<double, 1>&array_a, &array_b, &array_c;
  memarray::StreamHandle stream = memarray::default_stream();
  double *a, *b, *c;
  std::int64_t size;
  int threads;

  Fields(Arrays& arrays, int thread_count)
      : array_a(arrays.a),
        array_b(arrays.b),
        array_c(arrays.c),
        a(array_a.ptr()),
        b(array_b.ptr()),
        c(array_c.ptr()),
        size(array_a.get_size()),
        threads(thread_count) {}
};

inline constexpr double scalar = 0.4;
inline constexpr std::array<char const*, 7> kernel_names = {"copy", "mul", "add", "triad", "dot", "sum", "nstream"};

/// The kernels in the order of `kernel_names`. `dot` and `sum` return their value, the others 0.
using Kernels = std::array<double (*)(Fields&), kernel_names.size()>;

extern Kernels const openmp_kernels, algorithm_kernels, kokkos_kernels;

/// Sets the threads of a model that has a setting of the process.
void start_algorithms(int threads);
void start_kokkos(int threads);
void stop_kokkos();
