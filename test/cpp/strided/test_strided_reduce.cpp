#include <memarray/detail/strided/strided_reduce.hpp>

#include "strided/simd_level.hpp"
#include "strided_expected.hpp"
#include "strided_test.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/options.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>

namespace memarray::test {
namespace {

using detail::AxisMask;
using detail::Reduction;
using ::testing::HasSubstr;

constexpr Reduction all_reductions[] = {Reduction::sum, Reduction::mean, Reduction::min, Reduction::max};

std::string shown(Number const& number) {
  return std::to_string(number.real) + " + " + std::to_string(number.imag) + "i / " + std::to_string(number.whole);
}

/// Checks one reduction into the given result.
void check(Reduction reduction, View const& view, AxisMask axes, View result) {
  std::string const what =
      std::string(detail::to_string(reduction)) + " of " + view.dtype().name + ", axes " + std::to_string(axes) + ": " +
      to_string(detail::plan_reduce(reduction, view.dtype(), view.layout(), axes, result.layout()));
  auto const wanted = expected(reduction, view, axes);
  std::int64_t terms = 1;
  for (int d = 0; d < view.layout().ndim(); ++d)
    if ((axes >> d) & 1U) terms *= view.layout().extent(d);
  // The min or max of no terms does not exist, even if there are no results either.
  if (!wanted || (terms == 0 && (reduction == Reduction::min || reduction == Reduction::max))) {
    EXPECT_THROW(detail::reduce(reduction, view.source(), axes, result.target()), ValueError) << what;
    return;
  }
  detail::reduce(reduction, view.source(), axes, result.target());
  // For several complex numbers with NaN, any of them is a correct result.
  bool const by_order = reduction == Reduction::min || reduction == Reduction::max;
  for (auto const& [index, number] : *wanted)
    ASSERT_TRUE(same(result.get(index), number) || (by_order && has_nan(result.get(index)) && has_nan(number)))
        << what << ": " << shown(result.get(index)) << ", not " << shown(number) << " at "
        << ::testing::PrintToString(index);
  ASSERT_TRUE(result.surroundings_are_whole()) << what;
}

void check(Reduction reduction, View const& view, AxisMask axes) {
  Numbers const shape = kept_of({view.layout().shape().begin(), view.layout().shape().end()}, axes);
  check(reduction, view, axes, View(detail::reduced_dtype(reduction, view.dtype()), shape));
}

struct Layout {
  char const* name;
  Numbers shape;
  Numbers strides;  // in elements
};

Layout const layouts[] = {
    {"C order", {5, 6, 7}, {42, 7, 1}},      {"Fortran order", {5, 6, 7}, {1, 5, 30}},
    {"flipped", {5, 6, 7}, {-42, 7, -1}},    {"all flipped", {300}, {-1}},
    {"broadcast outside", {4, 30}, {0, 1}},  {"broadcast inside", {30, 4}, {1, 0}},
    {"broadcast all", {3, 4, 5}, {0, 0, 0}}, {"gaps", {9, 8, 7}, {500, 50, 3}},
    {"rows of three", {1000, 3}, {3, 1}},    {"three of eight", {500, 3}, {8, 1}},
    {"rows of 128", {40, 128}, {128, 1}},    {"a column", {3000}, {33}},
    {"one element", {1, 1}, {7, 9}},         {"no dimension", {}, {}},
    {"empty", {3, 0, 4}, {4, 4, 1}},         {"rank 8", {2, 3, 2, 2, 1, 3, 2, 2}, {1, 2, 72, 36, 0, 6, 18, -144}},
};

class StridedReduceTest : public ::testing::TestWithParam<detail::SimdLevel> {
 protected:
  void SetUp() override {
    if (detail::widest_simd_level() != GetParam()) GTEST_SKIP() << "this processor has no such vectors";
  }
  ~StridedReduceTest() override { detail::limit_simd_level(before); }
  detail::SimdLevel before = detail::limit_simd_level(GetParam());
};

/// Fills with edge values where results do not depend on the order of the terms.
void fill(Random& random, View& view, Reduction reduction) {
  bool const by_order = reduction == Reduction::min || reduction == Reduction::max;
  if (by_order || (reduction == Reduction::sum && is_integer(view.dtype())))
    random.fill_with_edges(view);
  else
    random.fill(view, reduction == Reduction::mean);
}

TEST_P(StridedReduceTest, EveryDtypeAndLayoutIsReduced) {
  Random random(1);
  for (DType const& dtype : shipped_dtypes())
    for (Layout const& each : layouts) {
      if (!is_tried(dtype)) continue;
      Numbers strides = each.strides;
      for (std::int64_t& stride : strides) stride *= dtype.itemsize;
      View view(dtype, StridedLayout::strided(each.shape, strides, dtype.itemsize));
      for (Reduction const reduction : all_reductions) {
        fill(random, view, reduction);
        AxisMask const all = (AxisMask{1} << each.shape.size()) - 1;
        for (AxisMask axes = 0; axes <= all; axes += each.shape.size() > 3 ? 37 : 1) {
          SCOPED_TRACE(each.name);
          check(reduction, view, axes);
          if (HasFatalFailure()) return;
        }
      }
    }
}

TEST_P(StridedReduceTest, RandomViewsAreReduced) {
  constexpr std::uint64_t seed = 20'240;
  Random random(seed + static_cast<std::uint64_t>(GetParam()));
  for (int round = 0; round < rounds(3000); ++round) {
    DType const& dtype = shipped_dtypes()[static_cast<std::size_t>(random.below(15))];
    Reduction const reduction = all_reductions[random.below(4)];
    Numbers const shape = random.shape(static_cast<int>(random.one_in(10) ? 8 : random.below(6)), 4000);
    View view(dtype, random.layout(shape, dtype.itemsize, true));
    auto const axes = static_cast<AxisMask>(random.below(std::int64_t{1} << shape.size()));
    DType const& to = detail::reduced_dtype(reduction, dtype);
    if (random.one_in(2))
      fill(random, view, reduction);
    else
      random.fill(view, reduction == Reduction::mean, random.one_in(4) && reduction != Reduction::sum);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    check(reduction, view, axes, View(to, random.layout(kept_of(shape, axes), to.itemsize, false)));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(SimdLevel, StridedReduceTest,
                         ::testing::Values(detail::SimdLevel::baseline, detail::SimdLevel::avx2,
                                           detail::SimdLevel::avx512));

TEST(StridedReduce, ResultDtypesMatchNumPy) {
  std::map<std::string, std::string> const sums = {
      {"bool", "int64"},      {"int8", "int64"},          {"int16", "int64"},          {"int32", "int64"},
      {"int64", "int64"},     {"uint8", "uint64"},        {"uint16", "uint64"},        {"uint32", "uint64"},
      {"uint64", "uint64"},   {"float16", "float16"},     {"bfloat16", "bfloat16"},    {"float32", "float32"},
      {"float64", "float64"}, {"complex64", "complex64"}, {"complex128", "complex128"}};
  for (DType const& dtype : shipped_dtypes()) {
    EXPECT_EQ(reduced_dtype(Reduction::sum, dtype).name, sums.at(dtype.name));
    EXPECT_EQ(reduced_dtype(Reduction::mean, dtype).name_view(), is_integer(dtype) ? "float64" : dtype.name_view());
    EXPECT_EQ(reduced_dtype(Reduction::min, dtype), dtype);
    EXPECT_EQ(reduced_dtype(Reduction::max, dtype), dtype);
  }
}

TEST(StridedReduce, NonNumericAndMismatchedDtypesAreRefused) {
  DType particle;
  std::memcpy(particle.name, "Particle", 9);
  particle.dl.code = kDLOpaqueHandle;
  particle.itemsize = 8;
  try {
    static_cast<void>(reduced_dtype(Reduction::max, particle));
    FAIL();
  } catch (TypeError const& error) {
    EXPECT_THAT(error.what(), HasSubstr("max"));
    EXPECT_THAT(error.what(), HasSubstr("Particle"));
  }
  View from(dtype_of<float>(), Numbers{3});
  View to(dtype_of<double>(), Numbers{});
  EXPECT_THROW(detail::reduce(Reduction::sum, from.source(), 1, to.target()), TypeError);
}

TEST(StridedReduce, EmptyMinIsRefusedAndEmptySumIsZero) {
  View const nothing(dtype_of<float>(), Numbers{0, 3});
  View three(dtype_of<float>(), Numbers{3});
  View none(dtype_of<float>(), Numbers{0});
  try {
    detail::reduce(Reduction::min, nothing.source(), 1, three.target());
    FAIL();
  } catch (ValueError const& error) {
    EXPECT_STREQ(error.what(), "min of an empty view has no value");
  }
  detail::reduce(Reduction::min, nothing.source(), 2, none.target());
  detail::reduce(Reduction::sum, nothing.source(), 1, three.target());
  EXPECT_EQ(three.get({2}).real, 0);
  detail::reduce(Reduction::mean, nothing.source(), 1, three.target());
  EXPECT_TRUE(std::isnan(three.get({1}).real));
}

TEST(StridedReduce, IntegersWrapAndInfinitiesPropagate) {
  View ints(dtype_of<std::int64_t>(), Numbers{3});
  for (std::int64_t i = 0; i < 3; ++i) ints.set({i}, {0, 0, std::uint64_t{1} << 63});
  View total(dtype_of<std::int64_t>(), Numbers{});
  detail::reduce(Reduction::sum, ints.source(), 1, total.target());
  EXPECT_EQ(total.get({}).whole, std::uint64_t{1} << 63);

  for (long double const infinity : {HUGE_VALL, -HUGE_VALL}) {
    View floats(dtype_of<double>(), Numbers{100'000});
    Random(2).fill(floats, true);
    floats.set({50'000}, {infinity, 0, 0});
    View sum(dtype_of<double>(), Numbers{});
    detail::reduce(Reduction::sum, floats.source(), 1, sum.target());
    EXPECT_EQ(sum.get({}).real, infinity);
    floats.set({7}, {-infinity, 0, 0});
    detail::reduce(Reduction::sum, floats.source(), 1, sum.target());
    EXPECT_TRUE(std::isnan(sum.get({}).real));
  }
}

TEST(StridedReduce, BroadcastDimensionsAreReducedWithoutIteration) {
  View one(dtype_of<float>(), StridedLayout::strided(Numbers{1 << 30, 4, 1 << 20}, Numbers{0, 4, 0}, 4));
  for (std::int64_t j = 0; j < 4; ++j) one.set({0, j, 0}, {1.5L, 0, 0});
  View total(dtype_of<float>(), Numbers{});
  detail::reduce(Reduction::sum, one.source(), 7, total.target());
  EXPECT_EQ(total.get({}).real, 1.5L * 4 * 0x1p50L);
  detail::reduce(Reduction::mean, one.source(), 7, total.target());
  EXPECT_EQ(total.get({}).real, 1.5L);
}

}  // namespace
}  // namespace memarray::test
