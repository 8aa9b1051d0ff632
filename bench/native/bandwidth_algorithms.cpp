#include <tbb/global_control.h>

#include <algorithm>
#include <execution>
#include <functional>
#include <memory>
#include <numeric>

#include "bandwidth.hpp"

namespace {

constexpr auto policy = std::execution::par_unseq;

double copy(Fields& f) {
  std::copy(policy, f.a, f.a + f.size, f.c);
  return 0;
}

double mul(Fields& f) {
  std::transform(policy, f.c, f.c + f.size, f.b, [](double c) { return scalar * c; });
  return 0;
}

double add(Fields& f) {
  std::transform(policy, f.a, f.a + f.size, f.b, f.c, std::plus<>());
  return 0;
}

double triad(Fields& f) {
  std::transform(policy, f.b, f.b + f.size, f.c, f.a, [](double b, double c) { return b + scalar * c; });
  return 0;
}

double dot(Fields& f) { return std::transform_reduce(policy, f.a, f.a + f.size, f.b, 0.0); }

double sum(Fields& f) { return std::reduce(policy, f.a, f.a + f.size, 0.0); }

// Computes positions from the elements' addresses: no algorithm reads three ranges in one pass.
double nstream(Fields& f) {
  std::for_each(policy, f.a, f.a + f.size, [a = f.a, b = f.b, c = f.c](double& element) {
    auto const i = &element - a;
    element += b[i] + scalar * c[i];
  });
  return 0;
}

std::unique_ptr<tbb::global_control> limit;

}  // namespace

Kernels const algorithm_kernels = {copy, mul, add, triad, dot, sum, nstream};

void start_algorithms(int threads) {
  limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                static_cast<std::size_t>(threads));
}
