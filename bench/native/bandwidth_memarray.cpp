#include "bandwidth_arrays.hpp"

namespace {

using memarray::overwrite;
using memarray::read;
using memarray::update;

double copy(Fields& f) {
  memarray::for_each_index(
      {f.size}, f.arrays.stream, [](auto const& i, auto a, auto c) { c[i] = a[i]; }, read(f.arrays.a),
      overwrite(f.arrays.c));
  return 0;
}

double mul(Fields& f) {
  memarray::for_each_index(
      {f.size}, f.arrays.stream, [](auto const& i, auto c, auto b) { b[i] = scalar * c[i]; }, read(f.arrays.c),
      overwrite(f.arrays.b));
  return 0;
}

double add(Fields& f) {
  memarray::for_each_index(
      {f.size}, f.arrays.stream, [](auto const& i, auto a, auto b, auto c) { c[i] = a[i] + b[i]; }, read(f.arrays.a),
      read(f.arrays.b), overwrite(f.arrays.c));
  return 0;
}

double triad(Fields& f) {
  memarray::for_each_index(
      {f.size}, f.arrays.stream, [](auto const& i, auto b, auto c, auto a) { a[i] = b[i] + scalar * c[i]; },
      read(f.arrays.b), read(f.arrays.c), overwrite(f.arrays.a));
  return 0;
}

double dot(Fields& f) { return memarray::dot(f.arrays.a, f.arrays.b, f.arrays.stream); }

double sum(Fields& f) { return memarray::sum(f.arrays.a, f.arrays.stream); }

double nstream(Fields& f) {
  memarray::for_each_index(
      {f.size}, f.arrays.stream, [](auto const& i, auto b, auto c, double& a) { a += b[i] + scalar * c[i]; },
      read(f.arrays.b), read(f.arrays.c), update(f.arrays.a));
  return 0;
}

}  // namespace

double transformed_by_memarray(Fields& f) {
  return memarray::transform_reduce(
      {f.size}, f.arrays.stream, 0.0, memarray::plus(), [](auto const& i, auto a, auto b) { return a[i] * b[i]; },
      read(f.arrays.a), read(f.arrays.b));
}

Kernels const memarray_kernels = {copy, mul, add, triad, dot, sum, nstream};
