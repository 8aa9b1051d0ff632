#include "bandwidth.hpp"

namespace {

double copy(Fields& f) {
  double const* const a = f.a;
  double* const c = f.c;
#pragma omp parallel for simd num_threads(f.threads)
  for (std::int64_t i = 0; i < f.size; ++i) c[i] = a[i];
  return 0;
}

double mul(Fields& f) {
  double const* const c = f.c;
  double* const b = f.b;
#pragma omp parallel for simd num_threads(f.threads)
  for (std::int64_t i = 0; i < f.size; ++i) b[i] = scalar * c[i];
  return 0;
}

double add(Fields& f) {
  double const *const a = f.a, *const b = f.b;
  double* const c = f.c;
#pragma omp parallel for simd num_threads(f.threads)
  for (std::int64_t i = 0; i < f.size; ++i) c[i] = a[i] + b[i];
  return 0;
}

double triad(Fields& f) {
  double const *const b = f.b, *const c = f.c;
  double* const a = f.a;
#pragma omp parallel for simd num_threads(f.threads)
  for (std::int64_t i = 0; i < f.size; ++i) a[i] = b[i] + scalar * c[i];
  return 0;
}

double dot(Fields& f) {
  double const *const a = f.a, *const b = f.b;
  double sum = 0;
#pragma omp parallel for simd num_threads(f.threads) reduction(+ : sum)
  for (std::int64_t i = 0; i < f.size; ++i) sum += a[i] * b[i];
  return sum;
}

double sum(Fields& f) {
  double const* const a = f.a;
  double sum = 0;
#pragma omp parallel for simd num_threads(f.threads) reduction(+ : sum)
  for (std::int64_t i = 0; i < f.size; ++i) sum += a[i];
  return sum;
}

double nstream(Fields& f) {
  double const *const b = f.b, *const c = f.c;
  double* const a = f.a;
#pragma omp parallel for simd num_threads(f.threads)
  for (std::int64_t i = 0; i < f.size; ++i) a[i] += b[i] + scalar * c[i];
  return 0;
}

}  // namespace

Kernels const openmp_kernels = {copy, mul, add, triad, dot, sum, nstream};
