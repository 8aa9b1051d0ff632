// Compares six loops that memory bounds, with those of other models, in one program. `bandwidth THREADS ROUNDS
// MILLISECONDS ELEMENTS` prints, for each kernel and model, the seconds of one call in each round.
#include "bandwidth.hpp"

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "rounds.hpp"

namespace {

using memarray::overwrite;
using memarray::read;
using memarray::update;

namespace ours {

double copy(Fields& f) {
  memarray::for_each_index(
      {f.size}, f.stream, [](auto const& i, auto a, auto c) { c[i] = a[i]; }, read(f.array_a), overwrite(f.array_c));
  return 0;
}

double mul(Fields& f) {
  memarray::for_each_index(
      {f.size}, f.stream, [](auto const& i, auto c, auto b) { b[i] = scalar * c[i]; }, read(f.array_c),
      overwrite(f.array_b));
  return 0;
}

double add(Fields& f) {
  memarray::for_each_index(
      {f.size}, f.stream, [](auto const& i, auto a, auto b, auto c) { c[i] = a[i] + b[i]; }, read(f.array_a),
      read(f.array_b), overwrite(f.array_c));
  return 0;
}

double triad(Fields& f) {
  memarray::for_each_index(
      {f.size}, f.stream, [](auto const& i, auto b, auto c, auto a) { a[i] = b[i] + scalar * c[i]; }, read(f.array_b),
      read(f.array_c), overwrite(f.array_a));
  return 0;
}

double dot(Fields& f) { return memarray::dot(f.array_a, f.array_b, f.stream); }

double transformed(Fields& f) {
  return memarray::transform_reduce(
      {f.size}, f.stream, 0.0, memarray::plus(), [](auto const& i, auto a, auto b) { return a[i] * b[i]; },
      read(f.array_a), read(f.array_b));
}

double nstream(Fields& f) {
  memarray::for_each_index(
      {f.size}, f.stream, [](auto const& i, auto b, auto c, double& a) { a += b[i] + scalar * c[i]; }, read(f.array_b),
      read(f.array_c), update(f.array_a));
  return 0;
}

}  // namespace ours

namespace plain {

double copy(Fields& f) {
  for (std::int64_t i = 0; i < f.size; ++i) f.c[i] = f.a[i];
  return 0;
}

double mul(Fields& f) {
  double const* const c = f.c;
  double* const b = f.b;
  for (std::int64_t i = 0; i < f.size; ++i) b[i] = scalar * c[i];
  return 0;
}

double add(Fields& f) {
  double const *const a = f.a, *const b = f.b;
  double* const c = f.c;
  for (std::int64_t i = 0; i < f.size; ++i) c[i] = a[i] + b[i];
  return 0;
}

double triad(Fields& f) {
  double const *const b = f.b, *const c = f.c;
  double* const a = f.a;
  for (std::int64_t i = 0; i < f.size; ++i) a[i] = b[i] + scalar * c[i];
  return 0;
}

double dot(Fields& f) {
  double sum = 0;
  for (std::int64_t i = 0; i < f.size; ++i) sum += f.a[i] * f.b[i];
  return sum;
}

double nstream(Fields& f) {
  double const *const b = f.b, *const c = f.c;
  double* const a = f.a;
  for (std::int64_t i = 0; i < f.size; ++i) a[i] += b[i] + scalar * c[i];
  return 0;
}

}  // namespace plain

constexpr Kernels our_kernels = {ours::copy, ours::mul, ours::add, ours::triad, ours::dot, ours::nstream};
constexpr Kernels plain_kernels = {plain::copy, plain::mul, plain::add, plain::triad, plain::dot, plain::nstream};

constexpr std::size_t dot_kernel = 4;

double start_of_a(std::int64_t i) { return 1 + static_cast<double>(i % 7); }
double start_of_b(std::int64_t i) { return 2 + static_cast<double>(i % 5); }
double start_of_c(std::int64_t i) { return 3 + static_cast<double>(i % 3); }

void fill(Fields& f) {
  for (std::int64_t i = 0; i < f.size; ++i) f.a[i] = start_of_a(i);
  for (std::int64_t i = 0; i < f.size; ++i) f.b[i] = start_of_b(i);
  for (std::int64_t i = 0; i < f.size; ++i) f.c[i] = start_of_c(i);
}

/// True if `found` is `expected`, up to a fused multiplication.
bool near(double found, double expected, double relative) {
  return std::abs(found - expected) <= relative * std::abs(expected);
}

/// Runs kernel `k` once on known contents, and ends the program if any element, or the product, is wrong.
void check(Fields& f, std::size_t k, std::string const& model, double (*run)(Fields&)) {
  fill(f);
  double const product = run(f);
  double expected_product = 0;
  bool right = true;
  for (std::int64_t i = 0; i < f.size; ++i) {
    double a = start_of_a(i), b = start_of_b(i), c = start_of_c(i);
    expected_product += a * b;
    if (k == 0) c = a;
    if (k == 1) b = scalar * c;
    if (k == 2) c = a + b;
    if (k == 3) a = b + scalar * c;
    if (k == 5) a += b + scalar * c;
    right = right && near(f.a[i], a, 1e-15) && near(f.b[i], b, 1e-15) && near(f.c[i], c, 1e-15);
  }
  if (k == dot_kernel) right = right && near(product, expected_product, 1e-9);
  if (right) return;
  std::fprintf(stderr, "bandwidth: %s by %s computes something else\n", kernel_names[k], model.c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bandwidth THREADS ROUNDS MILLISECONDS ELEMENTS\n");
    return 2;
  }
  int const threads = std::atoi(argv[1]), rounds = std::atoi(argv[2]), milliseconds = std::atoi(argv[3]);
  memarray::options().threads = threads;
  Fields fields(std::atoll(argv[4]), threads);
  std::vector<std::pair<std::string, Kernels>> models = {{"memarray", our_kernels}, {"plain loop", plain_kernels}};
#ifdef WITH_OPENMP
  models.emplace_back("OpenMP", openmp_kernels);
#endif
#ifdef WITH_TBB
  start_algorithms(threads);
  models.emplace_back("standard algorithms, TBB", algorithm_kernels);
#endif
#ifdef WITH_KOKKOS
  start_kokkos(threads);
  models.emplace_back("Kokkos", kokkos_kernels);
#endif
  Costs costs;
  for (std::size_t k = 0; k < kernel_names.size(); ++k) {
    std::vector<Contender> contenders;
    auto const add = [&](std::string const& name, double (*run)(Fields&)) {
      check(fields, k, name, run);
      contenders.push_back(contender(name, [&fields, run] { run(fields); }));
    };
    for (auto const& [name, kernels] : models) add(name, kernels[k]);
    if (k == dot_kernel) add("memarray: transform_reduce", ours::transformed);
    fill(fields);
    add_rounds(costs, kernel_names[k], contenders, rounds, milliseconds, threads);
  }
  print(costs);
#ifdef WITH_KOKKOS
  stop_kokkos();
#endif
}
