
#include "strided/strided_copy.hpp"

#include "strided/simd_level.hpp"
#include "strided_expected.hpp"
#include "strided_test.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/options.hpp>
#include <memarray/detail/strided/loop_nest.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace memarray::test {
namespace {

using ::testing::HasSubstr;

void check(View const& source, View target) {
  std::string const what =
      std::string(source.dtype().name) + " to " + target.dtype().name + ": " +
      to_string(detail::plan_copy(target.layout(), target.dtype().itemsize, source.layout(), source.dtype().itemsize));
  detail::copy(target.target(), source.source());
  View::for_each_index(source.layout().shape(), [&](Numbers const& index) {
    Number const wanted = as_number(source.dtype(), target.dtype(), source.get(index));
    if (!same_with_sign(target.get(index), wanted))
      ADD_FAILURE() << what << " at " << ::testing::PrintToString(index) << ": "
                    << static_cast<double>(target.get(index).real) << ", not " << static_cast<double>(wanted.real);
  });
  ASSERT_TRUE(target.surroundings_are_whole()) << what;
}

class StridedCopyTest : public ::testing::TestWithParam<detail::SimdLevel> {
 protected:
  void SetUp() override {
    if (detail::widest_simd_level() != GetParam()) GTEST_SKIP() << "this processor has no such vectors";
  }
  ~StridedCopyTest() override { detail::limit_simd_level(before); }
  detail::SimdLevel before = detail::limit_simd_level(GetParam());
};

TEST_P(StridedCopyTest, EveryPairOfDtypesIsConverted) {
  Random random(3);
  for (DType const& from : shipped_dtypes())
    for (DType const& to : shipped_dtypes()) {
      Numbers const shape{3, 50};
      View source(from, StridedLayout::dense(shape, from.itemsize));
      random.fill_with_edges(source);
      check(source, View(to, shape));
      View across(from, StridedLayout::strided(shape, Numbers{from.itemsize, 3 * from.itemsize}, from.itemsize));
      random.fill_with_edges(across);
      check(across, View(to, shape));
      if (HasFailure()) return;
    }
}

TEST_P(StridedCopyTest, RandomViewsAreCopied) {
  constexpr std::uint64_t seed = 77;
  Random random(seed + static_cast<std::uint64_t>(GetParam()));
  for (int round = 0; round < rounds(3000); ++round) {
    DType const& from = shipped_dtypes()[static_cast<std::size_t>(random.below(15))];
    DType const& to = random.one_in(2) ? from : shipped_dtypes()[static_cast<std::size_t>(random.below(15))];
    Numbers const shape = random.shape(static_cast<int>(random.one_in(10) ? 8 : random.below(6)), 6000);
    View source(from, random.layout(shape, from.itemsize, true));
    if (random.one_in(2))
      random.fill(source, true);
    else
      random.fill_with_edges(source);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    check(source, View(to, random.layout(shape, to.itemsize, false)));
    if (HasFailure()) return;
  }
}

TEST_P(StridedCopyTest, HalfConversionMatchesTheScalarConversion) {
  std::vector<float16> halves(65536);
  for (std::size_t bits = 0; bits < halves.size(); ++bits) {
    halves[bits] = float16::from_bits(static_cast<std::uint16_t>(bits));
  }
  auto const layout = [](auto const& elements) {
    return StridedLayout::dense(Numbers{static_cast<std::int64_t>(elements.size())}, sizeof(elements[0]));
  };
  std::vector<float> floats(halves.size());
  detail::copy({reinterpret_cast<std::byte*>(floats.data()), dtype_of<float>(), layout(floats)},
               {reinterpret_cast<std::byte const*>(halves.data()), dtype_of<float16>(), layout(halves)});
  std::vector<float> between;
  for (std::size_t i = 0; i < floats.size(); ++i) {
    auto const one = static_cast<float>(halves[i]);
    ASSERT_TRUE(floats[i] == one || (floats[i] != floats[i] && one != one)) << i;
    // The number itself, its neighbours, and the points where rounding changes direction.
    float const middle = i + 1 < floats.size() ? (one + static_cast<float>(halves[i + 1])) / 2 : one;
    for (float const number : {one, middle})
      for (float const towards : {-HUGE_VALF, number, HUGE_VALF}) between.push_back(std::nextafter(number, towards));
  }
  std::vector<float16> found(between.size());
  detail::copy({reinterpret_cast<std::byte*>(found.data()), dtype_of<float16>(), layout(found)},
               {reinterpret_cast<std::byte const*>(between.data()), dtype_of<float>(), layout(between)});
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const got = static_cast<float>(found[i]);
    auto const wanted = static_cast<float>(float16(between[i]));
    ASSERT_TRUE(got == wanted || (got != got && wanted != wanted)) << between[i];
  }
}

INSTANTIATE_TEST_SUITE_P(SimdLevel, StridedCopyTest,
                         ::testing::Values(detail::SimdLevel::baseline, detail::SimdLevel::avx2,
                                           detail::SimdLevel::avx512));

TEST(StridedCopy, TransposesWithRaggedEdges) {
  for (char const* const name : {"int8", "int16", "float32", "float64", "complex128"}) {
    DType const& dtype = *find_dtype(name);
    auto const item = static_cast<std::int64_t>(dtype.itemsize);
    for (std::int64_t const rows : {1, 3, 4, 15, 16, 17, 33, 64, 100, 257})
      for (std::int64_t const columns : {2, 4, 16, 31, 65, 130}) {
        Random random(4);
        View source(dtype, StridedLayout::strided(Numbers{rows, columns}, Numbers{item, rows * item}, dtype.itemsize));
        random.fill_with_edges(source);
        check(source, View(dtype, Numbers{rows, columns}));
        check(source, View(dtype, StridedLayout::strided(Numbers{rows, columns}, Numbers{(columns + 3) * item, -item},
                                                         dtype.itemsize)));
      }
  }
}

TEST(StridedCopy, LargeViewsAreCopiedOnSeveralThreads) {
  for (int const threads : {1, 3}) {
    int const before = options().threads.exchange(threads);
    constexpr std::int64_t side = 700;
    for (char const* const to : {"float32", "float64"}) {
      View source(dtype_of<float>(), StridedLayout::strided(Numbers{side, side}, Numbers{4, -side * 4}, 4));
      Random(5).fill_with_edges(source);
      check(source, View(*find_dtype(to), Numbers{side, side}));
      View narrow(dtype_of<float>(), StridedLayout::strided(Numbers{100'000, 3}, Numbers{20, 4}, 4));
      Random(6).fill_with_edges(narrow);
      check(narrow, View(*find_dtype(to), Numbers{100'000, 3}));
    }
    options().threads = before;
  }
}

/// Checks copies of numbered elements without reading each through a view. Strides count bytes for four-byte elements,
/// even if the target's elements are larger.
template <class To = std::uint32_t>
void check_large(Numbers const& shape, Numbers target, Numbers const& source, std::int64_t source_first,
                 std::size_t misaligned) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(To));
  constexpr auto untouched = static_cast<To>(0xA5A5A5A5U);
  for (std::int64_t& stride : target) stride *= size / 4;
  StridedLayout const to = StridedLayout::strided(shape, target, sizeof(To));
  StridedLayout const from = StridedLayout::strided(shape, source, 4);
  std::vector<std::uint32_t> numbers(std::size_t{8} << 20);
  std::iota(numbers.begin(), numbers.end(), 1U);
  std::vector<To> copied((static_cast<std::size_t>(to.span(sizeof(To)).last) / sizeof(To)) + 64, untouched);
  detail::copy({reinterpret_cast<std::byte*>(copied.data() + misaligned), dtype_of<To>(), to},
               {reinterpret_cast<std::byte const*>(numbers.data() + source_first), dtype_of<std::uint32_t>(), from});
  std::int64_t wrong = 0;
  View::for_each_index(shape, [&](Numbers const& index) {
    std::int64_t at = static_cast<std::int64_t>(misaligned) * size;
    std::int64_t number = source_first * 4;
    for (std::size_t d = 0; d < index.size(); ++d) {
      at += index[d] * target[d];
      number += index[d] * source[d];
    }
    To& found = copied[static_cast<std::size_t>(at / size)];
    std::int64_t const wanted = number / 4 + 1;
    wrong += found == static_cast<To>(wanted) ? 0 : 1;
    found = untouched;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(std::ranges::count(copied, untouched), std::ssize(copied)) << "beside the elements";
}

// Targets larger than the caches: written in whole cache lines, wherever rows begin.
TEST(StridedCopy, LargeTargetsAreWrittenAndNothingElse) {
  for (int const threads : {1, 2}) {
    int const before = options().threads.exchange(threads);
    for (std::size_t const misaligned : {7U, 1U, 0U}) {
      if (!tries_all && misaligned != 7U) continue;
      check_large({1500, 1024}, {1024 * 4, 4}, {4, 1500 * 4}, 0, misaligned);
      check_large({1500, 1024}, {1024 * 4, 4}, {-4, 1500 * 4}, 1499, misaligned);
      check_large({1100, 1300}, {1300 * 4, 4}, {4, 1100 * 4}, 0, misaligned);
      check_large({1100, 1300}, {1303 * 4, 4}, {4, 1100 * 4}, 0, misaligned);
      check_large({1'500'000, 3}, {12, 4}, {20, 4}, 0, misaligned);
      check_large({4'300'000}, {4}, {-4}, 4'299'999, misaligned);
      check_large({2'100'000, 2}, {8, 4}, {0, 4}, 0, misaligned);
      check_large({2100, 2050}, {2050 * 4, 4}, {3000 * 4, 4}, 0, misaligned);
      check_large({2100, 2050}, {2060 * 4, 4}, {2100 * 4, 4}, 0, misaligned);
      // Rows that end within cache lines: slightly longer than a line, shorter, and many to a buffer.
      check_large({65'000, 65}, {65 * 4, 4}, {67 * 4, 4}, 0, misaligned);
      check_large({310'000, 14}, {14 * 4, 4}, {19 * 4, 4}, 0, misaligned);
      check_large({85, 250, 203}, {250 * 203 * 4, 203 * 4, 4}, {60'000 * 4, 215 * 4, 4}, 3, misaligned);
      check_large({85, 250, 203}, {250 * 203 * 4, 203 * 4, 4}, {90'000 * 4, 350 * 4, 4}, 3, misaligned);
    }
    options().threads = before;
  }
}

TEST(StridedCopy, LargeTargetsOfAnotherDtypeAreWrittenAndNothingElse) {
  for (int const threads : {1, 2}) {
    int const before = options().threads.exchange(threads);
    for (std::size_t const misaligned : {3U, 0U}) {
      if (!tries_all && misaligned != 3U) continue;
      check_large<double>({2'100'001}, {4}, {4}, 3, misaligned);
      check_large<double>({1043, 2011}, {2011 * 4, 4}, {4022 * 4, 8}, 1, misaligned);
      check_large<float>({2093, 2005}, {2005 * 4, 4}, {2009 * 4, 4}, 5, misaligned);
      check_large<double>({1043, 2015}, {2017 * 4, 4}, {-4030 * 4, -8}, 1043 * 4030 - 1, misaligned);
      check_large<double>({30'001, 71}, {71 * 4, 4}, {75 * 4, 4}, 0, misaligned);
      check_large<double>({85, 250, 103}, {250 * 103 * 4, 103 * 4, 4}, {60'000 * 4, 215 * 4, 8}, 3, misaligned);
    }
    options().threads = before;
  }
}

TEST(StridedCopy, StructsOfAnySizeAreCopied) {
  for (std::uint32_t const itemsize : {1U, 3U, 4U, 12U, 16U, 40U}) {
    DType dtype;
    std::memcpy(dtype.name, "Particle", 9);
    dtype.dl.code = kDLOpaqueHandle;
    dtype.itemsize = itemsize;
    constexpr std::int64_t rows = 20;
    constexpr std::int64_t columns = 9;
    std::int64_t const size = itemsize;
    // One byte into the memory, because structs need no alignment.
    std::vector<std::byte> from(static_cast<std::size_t>(rows * columns * size) + 1);
    std::vector<std::byte> to(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31 + i / 256);
    StridedLayout const across = StridedLayout::strided(Numbers{rows, columns}, Numbers{size, rows * size}, itemsize);
    StridedLayout const dense = StridedLayout::dense(Numbers{rows, columns}, itemsize);
    detail::copy({to.data() + 1, dtype, dense}, {from.data() + 1, dtype, across});
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        ASSERT_EQ(
            std::memcmp(to.data() + 1 + (i * columns + j) * size, from.data() + 1 + (j * rows + i) * size, itemsize), 0)
            << itemsize << ": " << i << ", " << j;
    EXPECT_EQ(to[0], std::byte{0});
    try {
      detail::copy({to.data(), dtype_of<float>(), dense}, {from.data(), dtype, across});
      FAIL();
    } catch (TypeError const& error) {
      EXPECT_THAT(error.what(), HasSubstr("Particle"));
    }
    EXPECT_TRUE(detail::can_cast(dtype, dtype));
    EXPECT_FALSE(detail::can_cast(dtype, dtype_of<float>()));
  }
}

template <class To, class From>
To cast_one(From value) {
  To result;
  StridedLayout const one;
  detail::copy({reinterpret_cast<std::byte*>(&result), dtype_of<To>(), one},
               {reinterpret_cast<std::byte const*>(&value), dtype_of<From>(), one});
  return result;
}

// NumPy's results on x86 for floats that no integer can represent.
TEST(StridedCopy, FloatsOutOfIntegerRangeConvertAsInNumPy) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (double const value : {infinity, -infinity, nan, 0x1p63, -0x1p64}) {
    EXPECT_EQ((cast_one<std::int64_t>(value)), least) << value;
    EXPECT_EQ((cast_one<std::int32_t>(value)), std::numeric_limits<std::int32_t>::min()) << value;
    EXPECT_EQ((cast_one<std::int8_t>(value)), 0) << value;
    EXPECT_EQ((cast_one<std::uint32_t>(value)), 0U) << value;
  }
  EXPECT_EQ((cast_one<std::uint64_t>(0x1p63)), std::uint64_t{1} << 63);
  EXPECT_EQ((cast_one<std::uint64_t>(-1.0)), ~std::uint64_t{0});
  EXPECT_EQ((cast_one<std::uint64_t>(infinity)), 0U);
  EXPECT_EQ((cast_one<std::uint64_t>(nan)), std::uint64_t{1} << 63);
  EXPECT_EQ((cast_one<std::uint8_t>(-1.0F)), 255);
  EXPECT_EQ((cast_one<std::uint8_t>(300.7F)), 44);
  EXPECT_EQ((cast_one<std::uint32_t>(-1.0F)), ~0U);
  EXPECT_TRUE((cast_one<bool>(nan)));
  EXPECT_TRUE((cast_one<bool>(std::complex<float>(0, 2))));
  EXPECT_EQ((cast_one<float>(std::complex<double>(3, 4))), 3.0F);
  EXPECT_TRUE(std::isinf(static_cast<float>(cast_one<float16>(1e6))));
}

TEST(StridedCopy, NonzeroBoolBytesAreTrue) {
  std::uint8_t const bytes[] = {0, 1, 2, 255};
  double numbers[4];
  StridedLayout const four = StridedLayout::dense(Numbers{4}, 1);
  StridedLayout const wide = StridedLayout::dense(Numbers{4}, 8);
  detail::copy({reinterpret_cast<std::byte*>(numbers), dtype_of<double>(), wide},
               {reinterpret_cast<std::byte const*>(bytes), dtype_of<bool>(), four});
  EXPECT_THAT(numbers, ::testing::ElementsAre(0, 1, 1, 1));
}

// The output of np.can_cast(row, column, "same_kind"), with bfloat16 treated like float16.
TEST(StridedCopy, SameKindCastsMatchNumPy) {
  char const* const table[15] = {
      "111111111111111",  // bool
      "011110000111111",  // int8
      "011110000111111",  // int16
      "011110000111111",  // int32
      "011110000111111",  // int64
      "011111111111111",  // uint8
      "011111111111111",  // uint16
      "011111111111111",  // uint32
      "011111111111111",  // uint64
      "000000000111111",  // float16
      "000000000111111",  // bfloat16
      "000000000111111",  // float32
      "000000000111111",  // float64
      "000000000000011",  // complex64
      "000000000000011",  // complex128
  };
  for (std::size_t from = 0; from < 15; ++from)
    for (std::size_t to = 0; to < 15; ++to)
      EXPECT_EQ(detail::can_cast(shipped_dtypes()[from], shipped_dtypes()[to]), table[from][to] == '1')
          << shipped_dtypes()[from].name << " to " << shipped_dtypes()[to].name;
}

}  // namespace
}  // namespace memarray::test
