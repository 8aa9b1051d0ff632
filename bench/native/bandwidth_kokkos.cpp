#include <Kokkos_Core.hpp>

#include "bandwidth.hpp"

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
template <class T>
using View = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class T>
View<T> view(T* data, Fields const& f) {
  return {data, static_cast<std::size_t>(f.size)};
}
View<double const> to_read(double* data, Fields const& f) { return {data, static_cast<std::size_t>(f.size)}; }

template <class Body>
double run(Fields const& f, Body const& body) {
  Kokkos::parallel_for(Range(0, f.size), body);
  Kokkos::fence();
  return 0;
}

double copy(Fields& f) {
  auto const a = to_read(f.a, f);
  auto const c = view(f.c, f);
  return run(f, KOKKOS_LAMBDA(std::int64_t i) { c(i) = a(i); });
}

double mul(Fields& f) {
  auto const c = to_read(f.c, f);
  auto const b = view(f.b, f);
  return run(f, KOKKOS_LAMBDA(std::int64_t i) { b(i) = scalar * c(i); });
}

double add(Fields& f) {
  auto const a = to_read(f.a, f), b = to_read(f.b, f);
  auto const c = view(f.c, f);
  return run(f, KOKKOS_LAMBDA(std::int64_t i) { c(i) = a(i) + b(i); });
}

double triad(Fields& f) {
  auto const b = to_read(f.b, f), c = to_read(f.c, f);
  auto const a = view(f.a, f);
  return run(f, KOKKOS_LAMBDA(std::int64_t i) { a(i) = b(i) + scalar * c(i); });
}

double dot(Fields& f) {
  auto const a = to_read(f.a, f), b = to_read(f.b, f);
  double total = 0;
  Kokkos::parallel_reduce(Range(0, f.size), KOKKOS_LAMBDA(std::int64_t i, double& sum) { sum += a(i) * b(i); }, total);
  return total;
}

double sum(Fields& f) {
  auto const a = to_read(f.a, f);
  double total = 0;
  Kokkos::parallel_reduce(Range(0, f.size), KOKKOS_LAMBDA(std::int64_t i, double& sum) { sum += a(i); }, total);
  return total;
}

double nstream(Fields& f) {
  auto const b = to_read(f.b, f), c = to_read(f.c, f);
  auto const a = view(f.a, f);
  return run(f, KOKKOS_LAMBDA(std::int64_t i) { a(i) += b(i) + scalar * c(i); });
}

}  // namespace

Kernels const kokkos_kernels = {copy, mul, add, triad, dot, sum, nstream};

void start_kokkos(int threads) {
  Kokkos::initialize(Kokkos::InitializationSettings().set_num_threads(threads).set_disable_warnings(true));
}
void stop_kokkos() { Kokkos::finalize(); }
