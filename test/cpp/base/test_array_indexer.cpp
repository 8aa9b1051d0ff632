#include <memarray/base/array_indexer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>

#include <cuda/std/array>

namespace memarray::test {
namespace {

template <int ndim>
using Extents = cuda::std::array<std::int64_t, ndim>;

static_assert(std::is_aggregate_v<ArrayIndexer<float, 6>>);
static_assert(std::is_trivially_copyable_v<ArrayIndexer<float, 6>>);
static_assert(sizeof(ArrayIndexer<float, 3>) == 4 * sizeof(void*));
static_assert(sizeof(ArrayIndexer<float, 2, std::int32_t>) == 2 * sizeof(void*));

constexpr int numbers[] = {0, 1, 2, 3, 4, 5};
constexpr ArrayIndexer<int const, 2> constant{numbers, {2, 3}};
static_assert(constant.size() == 6);
static_assert(constant({1, 2}) == 5);
static_assert(constant[{1, 2}] == 5);
static_assert(*constant.get(4) == 4);
static_assert(constant.get_indices(4)[0] == 1 && constant.get_indices(4)[1] == 1);
static_assert(constant.shape()[1] == 3);

template <class Rank>
class ArrayIndexerTest : public ::testing::Test {};
template <int n>
using Rank = std::integral_constant<int, n>;
using Ranks = ::testing::Types<Rank<1>, Rank<2>, Rank<3>, Rank<4>, Rank<5>, Rank<6>>;
TYPED_TEST_SUITE(ArrayIndexerTest, Ranks);

TYPED_TEST(ArrayIndexerTest, LinearIndicesRoundTripInRowMajorOrder) {
  constexpr int n = TypeParam::value;
  std::mt19937 random(n);
  for (int round = 0; round < 20; ++round) {
    ArrayIndexer<char const, n> indexer{nullptr, {}};
    for (int d = 0; d < n; ++d) indexer.extents[d] = 1 + static_cast<std::int64_t>(random() % 5);
    Extents<n> expected{};
    for (std::int64_t linear = 0; linear < indexer.size(); ++linear) {
      ASSERT_EQ(indexer.get_indices(linear), expected);
      ASSERT_EQ(indexer(expected), linear);
      for (int d = n - 1; d >= 0; --d) {
        if (++expected[d] < indexer.extents[d]) break;
        expected[d] = 0;
      }
    }
  }
}

TYPED_TEST(ArrayIndexerTest, AcceptsAnyArrayOfAnyIntegerType) {
  constexpr int n = TypeParam::value;
  ArrayIndexer<char const, n> indexer{nullptr, {}};
  for (int d = 0; d < n; ++d) indexer.extents[d] = 3;
  std::array<int, n> ints{};
  std::array<std::uint8_t, n> bytes{};
  cuda::std::array<std::int16_t, n> shorts{};
  for (std::size_t d = 0; d < n; ++d) {
    ints[d] = 2;
    bytes[d] = 2;
    shorts[d] = 2;
  }
  EXPECT_EQ(indexer(ints), indexer.size() - 1);
  EXPECT_EQ(indexer(bytes), indexer.size() - 1);
  EXPECT_EQ(indexer(shorts), indexer.size() - 1);
}

TYPED_TEST(ArrayIndexerTest, IndexesIn32Bits) {
  constexpr int n = TypeParam::value;
  ArrayIndexer<char const, n, std::int32_t> small{nullptr, {}};
  ArrayIndexer<char const, n> large{nullptr, {}};
  for (int d = 0; d < n; ++d) large.extents[d] = small.extents[d] = 2 + d;
  static_assert(std::is_same_v<decltype(small(small.extents)), std::int32_t>);
  for (std::int32_t i = 0; i < small.size(); ++i) {
    auto const indices = small.get_indices(i);
    ASSERT_EQ(small(indices), i);
    for (int d = 0; d < n; ++d) ASSERT_EQ(indices[d], large.get_indices(i)[d]);
  }
}

TYPED_TEST(ArrayIndexerTest, IsEmptyWhenAnyExtentIsZero) {
  constexpr int n = TypeParam::value;
  for (int empty = 0; empty < n; ++empty) {
    ArrayIndexer<char const, n> indexer{nullptr, {}};
    for (int d = 0; d < n; ++d) indexer.extents[d] = d == empty ? 0 : 4;
    EXPECT_EQ(indexer.size(), 0);
    EXPECT_EQ(indexer.get(0), nullptr);
  }
}

// No memory is accessed, so sizes may exceed any machine.
TEST(LargeArrayIndexer, IndicesBeyond32BitsRoundTrip) {
  constexpr std::int64_t two_to_32 = std::int64_t{1} << 32;
  for (Extents<3> const& extents :
       {Extents<3>{3, two_to_32, 5}, Extents<3>{two_to_32 + 7, 3, 11}, Extents<3>{1, 1, two_to_32},
        Extents<3>{65536, 65536, 65536}, Extents<3>{2, 1, two_to_32 - 1}}) {
    ArrayIndexer<char const, 3> const indexer{nullptr, extents};
    for (std::int64_t linear :
         {std::int64_t{0}, two_to_32 - 2, two_to_32 - 1, indexer.size() / 2, indexer.size() - 1}) {
      if (linear >= indexer.size()) continue;
      auto const indices = indexer.get_indices(linear);
      EXPECT_EQ(indexer(indices), linear);
      for (int d = 0; d < 3; ++d) {
        EXPECT_GE(indices[d], 0);
        EXPECT_LT(indices[d], extents[d]);
      }
    }
  }
}

TEST(LargeArrayIndexer, ReachesLastElementNear64BitLimit) {
  ArrayIndexer<char const, 2> const indexer{nullptr, {3, std::numeric_limits<std::int64_t>::max() / 3}};
  EXPECT_EQ(indexer({2, indexer.extents[1] - 1}), indexer.size() - 1);
  EXPECT_EQ(indexer.get_indices(indexer.size() - 1)[0], 2);
}

TEST(ElementAccess, ReadsBackWrittenElements) {
  double memory[12] = {};
  ArrayIndexer<double, 3> const indexer{memory, {2, 3, 2}};
  for (std::int64_t i = 0; i < indexer.size(); ++i) indexer[indexer.get_indices(i)] = static_cast<double>(i);
  for (std::int64_t i = 0; i < indexer.size(); ++i) EXPECT_EQ(*indexer.get(i), static_cast<double>(i));
  EXPECT_EQ(&(indexer[{1, 2, 1}]), memory + 11);
  EXPECT_EQ(indexer.get(12), memory + 12) << "one past the last may be named";
}

#if !defined(NDEBUG)
TEST(ArrayIndexerDeathTest, AssertsIndexBounds) {
  double memory[6] = {};
  ArrayIndexer<double, 2> const indexer{memory, {2, 3}};
  EXPECT_DEATH(static_cast<void>(indexer({0, 3})), "indices");
  EXPECT_DEATH(static_cast<void>(indexer({-1, 0})), "indices");
  EXPECT_DEATH(static_cast<void>(indexer.get_indices(6)), "linear");
  EXPECT_DEATH(static_cast<void>(indexer.get(7)), "linear");
}
#endif

}  // namespace
}  // namespace memarray::test
