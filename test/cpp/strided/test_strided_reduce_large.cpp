#include <memarray/detail/strided/strided_reduce.hpp>

#include "strided/simd_level.hpp"
#include "strided_test.hpp"

#include <memarray/base/options.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace memarray::test {
namespace {

using detail::AxisMask;
using detail::Reduction;

/// Views of one buffer of over a million numbers, which every kernel processes in many pieces.
struct Large {
  char const* name;
  Numbers shape;
  Numbers strides;  // in elements
  std::int64_t first;
};

Large const large_views[] = {
    {"contiguous", {1'200'000}, {1}, 0},
    {"flipped", {1'200'000}, {-1}, 1'199'999},
    {"every second", {600'000}, {2}, 1},
    {"square", {1000, 1200}, {1200, 1}, 0},
    {"transposed", {1200, 1000}, {1, 1200}, 0},
    {"long columns", {300'000, 4}, {4, 1}, 0},
    {"rows of three", {400'000, 3}, {3, 1}, 0},
    {"three of five", {240'000, 3}, {5, 1}, 1},
    {"one of five", {240'000}, {5}, 3},
    {"wide rows", {5, 240'000}, {240'000, 1}, 0},
    {"three dimensions", {50, 60, 100}, {24'000, 400, 3}, 7},
    {"three, in another order", {100, 50, 60}, {3, -24'000, 400}, 49 * 24'000},
    {"many short ones", {40'000, 5, 6}, {30, 6, 1}, 0},
    {"repeated", {300, 1000, 4}, {0, 4, 1}, 5},
    {"inside of a cube", {98, 98, 98}, {10'000, 100, 1}, 10'101},
    {"rows of a thousand, upside down", {998, 1001}, {-1200, 1}, 1'197'607},
    {"every second of all rows", {29, 33, 333}, {40'000, 1000, 2}, 3},
};

template <class T>
std::vector<T> numbers(std::uint64_t seed) {
  Random random(seed);
  std::vector<T> result(1'200'000);
  for (T& number : result) number = static_cast<T>(static_cast<double>(random.engine()() >> 11) * 0x1p-53);
  return result;
}

StridedLayout layout_of(Large const& large, std::size_t itemsize) {
  Numbers strides = large.strides;
  for (std::int64_t& stride : strides) stride *= static_cast<std::int64_t>(itemsize);
  return StridedLayout::strided(large.shape, strides, itemsize);
}

/// Returns the results of a reduction over some axes, in C order.
template <class T, class Result = T>
std::vector<Result> reduced(Reduction reduction, std::vector<T> const& memory, Large const& large, AxisMask axes) {
  Numbers shape;
  for (std::size_t d = 0; d < large.shape.size(); ++d)
    if ((axes >> d & 1U) == 0) shape.push_back(large.shape[d]);
  StridedLayout const result = StridedLayout::dense(shape, sizeof(Result));
  std::vector<Result> results(static_cast<std::size_t>(result.size()));
  detail::reduce(
      reduction,
      {reinterpret_cast<std::byte const*>(memory.data() + large.first), dtype_of<T>(), layout_of(large, sizeof(T))},
      axes, {reinterpret_cast<std::byte*>(results.data()), dtype_of<Result>(), result});
  return results;
}

/// Returns the sums of a plain loop in long double.
template <class T>
std::vector<long double> sums(std::vector<T> const& memory, Large const& large, AxisMask axes) {
  std::size_t count = 1;
  for (std::size_t d = 0; d < large.shape.size(); ++d)
    if ((axes >> d & 1U) == 0) count *= static_cast<std::size_t>(large.shape[d]);
  std::vector<long double> results(count);
  View::for_each_index(large.shape, [&](Numbers const& index) {
    std::size_t at = 0;
    std::int64_t from = large.first;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if ((axes >> d & 1U) == 0)
        at = at * static_cast<std::size_t>(large.shape[d]) + static_cast<std::size_t>(index[d]);
      from += index[d] * large.strides[d];
    }
    results[at] += static_cast<long double>(memory[static_cast<std::size_t>(from)]);
  });
  return results;
}

template <class T>
void check_error(long double most) {
  std::vector<T> const memory = numbers<T>(1);
  for (Large const& large : large_views)
    for (AxisMask axes = 1; axes < (AxisMask{1} << large.shape.size()); ++axes) {
      std::vector<T> const found = reduced(Reduction::sum, memory, large, axes);
      std::vector<long double> const wanted = sums(memory, large, axes);
      ASSERT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_LE(std::abs(static_cast<long double>(found[i]) - wanted[i]), most * wanted[i])
            << large.name << ", axes " << axes << ", result " << i;
    }
}

// Rounded once, to nearest; no earlier rounding is visible.
TEST(StridedReduceLarge, SumsOfFloatsAreRoundedOnce) { check_error<float>(0x1.0001p-24L); }

TEST(StridedReduceLarge, SumsOfDoublesHaveSmallRoundingErrors) { check_error<double>(1e-15L); }

/// Checks numbers that are converted during the reduction, with and without wide vectors.
template <class T, class Sum>
void check_whole_numbers() {
  Random random(5);
  std::vector<T> memory(1'200'000);
  for (T& number : memory) number = static_cast<T>(static_cast<float>(random.below(100)));
  for (std::size_t view = 0; view < std::size(large_views); view += 2) {
    Large const& large = large_views[view];
    for (AxisMask axes = 1; axes < (AxisMask{1} << large.shape.size()); ++axes) {
      std::vector<long double> const wanted = sums(memory, large, axes);
      for (detail::SimdLevel const most : {detail::SimdLevel::avx512, detail::SimdLevel::baseline}) {
        detail::SimdLevel const before = detail::limit_simd_level(most);
        std::vector<Sum> const found = reduced<T, Sum>(Reduction::sum, memory, large, axes);
        detail::limit_simd_level(before);
        for (std::size_t i = 0; i < found.size(); ++i)
          ASSERT_EQ(found[i], static_cast<Sum>(static_cast<double>(wanted[i])))
              << dtype_of<T>().name << ", " << large.name << ", axes " << axes << ", result " << i;
      }
    }
  }
}

TEST(StridedReduceLarge, SumsOfWholeNumbersAreExact) {
  check_whole_numbers<std::int8_t, std::int64_t>();
  check_whole_numbers<std::int32_t, std::int64_t>();
  check_whole_numbers<std::uint32_t, std::uint64_t>();
  check_whole_numbers<float16, float16>();
}

TEST(StridedReduceLarge, ResultsDoNotDependOnTheNumberOfThreads) {
  std::vector<double> const memory = numbers<double>(2);
  int const before = options().threads.load();
  for (Large const& large : large_views)
    for (AxisMask axes = 1; axes < (AxisMask{1} << large.shape.size()); ++axes)
      for (Reduction const reduction : {Reduction::sum, Reduction::mean, Reduction::max}) {
        options().threads = 1;
        std::vector<double> const alone = reduced(reduction, memory, large, axes);
        for (int const threads : {2, 5}) {
          options().threads = threads;
          EXPECT_EQ(reduced(reduction, memory, large, axes), alone) << large.name << ", axes " << axes;
        }
      }
  options().threads = before;
}

TEST(StridedReduceLarge, MinAndNaNAreFoundAtAnyPosition) {
  std::vector<float> memory = numbers<float>(3);
  for (Large const& large : large_views)
    for (AxisMask axes = 1; axes < (AxisMask{1} << large.shape.size()); ++axes) {
      Random random(4);
      for (int round = 0; round < 5; ++round) {
        std::int64_t from = large.first;
        std::size_t at = 0;
        for (std::size_t d = 0; d < large.shape.size(); ++d) {
          std::int64_t const index = random.below(large.shape[d]);
          if ((axes >> d & 1U) == 0)
            at = at * static_cast<std::size_t>(large.shape[d]) + static_cast<std::size_t>(index);
          from += index * large.strides[d];
        }
        float& element = memory[static_cast<std::size_t>(from)];
        float const kept = std::exchange(element, -3.0F);
        EXPECT_EQ(reduced(Reduction::min, memory, large, axes)[at], -3.0F) << large.name << ", axes " << axes;
        element = std::nanf("");
        EXPECT_TRUE(std::isnan(reduced(Reduction::min, memory, large, axes)[at])) << large.name << ", axes " << axes;
        EXPECT_TRUE(std::isnan(reduced(Reduction::max, memory, large, axes)[at])) << large.name << ", axes " << axes;
        element = kept;
      }
    }
}

}  // namespace
}  // namespace memarray::test
