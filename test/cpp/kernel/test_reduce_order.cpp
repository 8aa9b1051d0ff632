// The order in which reductions combine values.

#include <memarray/kernel/reduce.hpp>
#include <memarray/kernel/sum.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/places_test.hpp"

namespace memarray::test {
namespace {

constexpr auto element = [](auto const& i, auto const& x) { return x[i]; };

/// Different orders of these numbers give different sums. Their exponents lie in `-spread / 2 … spread / 2`.
std::vector<double> uneven(std::int64_t n, int spread = 60) {
  std::vector<double> values(static_cast<std::size_t>(n));
  double x = 0.3;
  for (double& value : values) {
    x = 3.9 * x * (1 - x);
    value = std::ldexp(x - 0.5, static_cast<int>(x * spread) - spread / 2);
  }
  return values;
}

TEST(ReduceOrder, ResultsDoNotDependOnThreadsOrPlaces) {
  std::int64_t const n = 700;
  std::vector<double> const values = uneven(n * n);
  int const before = options().threads.load();
  std::vector<std::vector<double>> results;
  for (int const threads : {1, 2, 3, 8, 0}) {
    std::optional<testing::SimulatedDevices> devices;
    if (threads == 0)
      devices.emplace();
    else
      options().threads = threads;
    MemArray<double, 2> array({n, n});
    std::copy(values.begin(), values.end(), array.ptr());
    if (threads == 0) array.move_memory(kDLCUDA, 0, 0);
    StreamHandle const stream = default_stream();
    for (int run = 0; run < 3; ++run)
      results.push_back({sum(array, stream), reduce(array, stream, 0.1, plus{}), dot(array, array, stream),
                         transform_reduce(interior({n, n}), stream, 0.0, plus{}, element, read(array))});
    options().threads = before;
  }
  for (auto const& result : results) EXPECT_EQ(result, results.front());
}

std::int64_t length_of_pieces(std::int64_t count, std::int64_t least) {
  std::int64_t const length = std::max(least, (count + 15) / 16);
  return length > 16 ? std::min<std::int64_t>(4096, (length + 15) / 16 * 16) : length;
}

/// Sums values in the documented order: pieces of `length` values, in them rows, in rows `lanes` lanes.
template <int lanes, class T>
T sum_in_documented_order(std::vector<T> const& values, std::int64_t length, std::int64_t columns, T init) {
  auto const count = static_cast<std::int64_t>(values.size());
  auto const value = [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; };
  for (std::int64_t begin = 0; begin < count; begin += length) {
    std::int64_t const end = std::min(begin + length, count);
    std::optional<T> piece;
    for (std::int64_t at = begin; at < end;) {
      std::int64_t const stop = std::min(end, (at / columns + 1) * columns);
      T each[lanes];
      T row = value(at);
      if (stop - at < lanes) {
        for (std::int64_t i = at + 1; i < stop; ++i) row += value(i);
      } else {
        for (std::int64_t i = at; i < stop; ++i) {
          T& lane = each[(i - at) % lanes];
          lane = i - at < lanes ? value(i) : lane + value(i);
        }
        for (int half = lanes / 2; half > 0; half /= 2)
          for (int l = 0; l < half; ++l) each[l] += each[l + half];
        row = each[0];
      }
      piece = piece ? *piece + row : row;
      at = stop;
    }
    init += *piece;
  }
  return init;
}

/// Returns whether the numbers tell sums in small pieces from those in large ones.
template <int lanes, class T>
bool expect_documented_order(int spread, std::int64_t rows, std::int64_t columns) {
  std::vector<T> values;
  for (double const value : uneven(rows * columns, spread)) values.push_back(static_cast<T>(value));
  MemArray<T, 2> array({rows, columns});
  std::ranges::copy(values, array.ptr());
  StreamHandle const stream = default_stream();
  T const init(0.25);
  std::int64_t const count = rows * columns;
  std::int64_t const small = length_of_pieces(count, 1);
  T const by_rows = sum_in_documented_order<lanes>(values, small, columns, init);
  T const as_one_run = sum_in_documented_order<lanes>(values, small, count, init);
  T const in_large_pieces = sum_in_documented_order<lanes>(values, length_of_pieces(count, 1024), count, init);
  EXPECT_NE(by_rows, as_one_run) << "else the numbers do not tell the orders apart";
  EXPECT_EQ(transform_reduce({rows, columns}, stream, init, plus{}, element, read(array)), by_rows);
  EXPECT_EQ(reduce(array, stream, init, [](T const& a, T const& b) { return a + b; }), as_one_run);
  EXPECT_EQ(reduce(array, stream, init, plus{}), in_large_pieces);
  return as_one_run != in_large_pieces;
}

TEST(ReduceOrder, IsTheDocumentedOne) {
  int differing = 0;
  differing += expect_documented_order<16, float>(20, 37, 301);
  differing += expect_documented_order<8, double>(34, 37, 301);
  differing += expect_documented_order<4, std::complex<double>>(30, 37, 301);
  differing += expect_documented_order<8, double>(48, 5, 13);  // pieces of five positions
  EXPECT_GE(differing, 1);
  EXPECT_FALSE((expect_documented_order<8, double>(34, 300, 301))) << "all pieces have 4,096 positions";
}

/// Sums of another order round differently. Beyond 2^24 they are: lanes in sequence 32, pieces of 2,048 or 8,192
/// positions 44, pieces of 32,768 positions 40, one sequence 0, exact arithmetic 49.
TEST(ReduceOrder, RoundingOfASumIsThatOfLanesInPairsAndPiecesOf4096) {
  MemArray<float, 1> array({16 * 4096 + 5});
  float* const values = array.ptr();
  values[0] = 0x1p24F;  // beyond it, a float has no odd numbers
  for (int i = 1; i <= 16; ++i) values[i] = 1;
  for (int piece = 1; piece < 8; ++piece)
    for (int const at : {0, 100, 200, 4095}) values[4096 * piece + at] = 1;
  for (int i = 0; i < 5; ++i) values[16 * 4096 + i] = 1;
  int const before = options().threads.load();
  for (int const threads : {1, 2, 3, 8}) {
    options().threads = threads;
    for (launch const& on : {launch{}, launch{.threads = threads}})
      EXPECT_EQ(reduce(array, on, 0.0F, plus{}) - 0x1p24F, 48) << threads;
  }
  options().threads = before;
}

}  // namespace
}  // namespace memarray::test
