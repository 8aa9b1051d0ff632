#include <memarray/base/float16.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace memarray {
namespace {

template <class T>
class Float16 : public ::testing::Test {};
using Types = ::testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(Float16, Types);

bool same(float left, float right) { return std::bit_cast<std::uint32_t>(left) == std::bit_cast<std::uint32_t>(right); }

TYPED_TEST(Float16, EveryBitPatternRoundTripsThroughFloat) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    auto const value = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
    auto const back = TypeParam(static_cast<float>(value));
    if (std::isnan(static_cast<float>(value))) {
      ASSERT_TRUE(std::isnan(static_cast<float>(back)));
    } else {
      ASSERT_EQ(back.bits, value.bits);
    }
  }
}

// Rounds to nearest, ties to even, for every source type.
TYPED_TEST(Float16, RoundsToNearestEven) {
  for (std::uint32_t bits = 0;; ++bits) {
    auto const low = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
    auto const high = TypeParam::from_bits(static_cast<std::uint16_t>(bits + 1));
    if (std::isinf(static_cast<float>(high))) {
      break;
    }
    double const middle = (double{low} + double{high}) / 2;
    auto const even = bits % 2 == 0 ? low : high;
    ASSERT_EQ(TypeParam(middle).bits, even.bits);
    ASSERT_EQ(TypeParam(-middle).bits, (-even).bits);
    ASSERT_EQ(TypeParam(std::nextafter(middle, 0.0)).bits, low.bits) << "by way of a float it would round twice";
    ASSERT_EQ(TypeParam(std::nextafter(middle, std::numeric_limits<double>::infinity())).bits, high.bits);
    auto const near = static_cast<float>(middle);
    if (double{near} == middle) {
      ASSERT_EQ(TypeParam(near).bits, even.bits);
      ASSERT_EQ(TypeParam(std::nextafter(near, 0.0F)).bits, low.bits);
      ASSERT_EQ(TypeParam(std::nextafter(near, std::numeric_limits<float>::infinity())).bits, high.bits);
    }
  }
}

TYPED_TEST(Float16, LimitsAreThoseOfItsValues) {
  using Limits = std::numeric_limits<TypeParam>;
  static_assert(Limits::is_specialized && Limits::is_iec559 && Limits::has_infinity && !Limits::is_integer);
  auto const after = [](TypeParam value) { return TypeParam::from_bits(static_cast<std::uint16_t>(value.bits + 1)); };
  auto const wide = [](TypeParam value) { return static_cast<double>(static_cast<float>(value)); };
  EXPECT_EQ(after(Limits::max()).bits, Limits::infinity().bits);
  EXPECT_TRUE(std::isinf(static_cast<float>(Limits::infinity())));
  EXPECT_EQ(wide(Limits::lowest()), -wide(Limits::max()));
  EXPECT_TRUE(std::isnan(static_cast<float>(Limits::quiet_NaN())));
  EXPECT_TRUE(std::isnan(static_cast<float>(Limits::signaling_NaN())));
  EXPECT_NE(Limits::quiet_NaN().bits, Limits::signaling_NaN().bits);
  EXPECT_EQ(wide(Limits::epsilon()), wide(after(TypeParam(1))) - 1);
  EXPECT_EQ(wide(Limits::round_error()), 0.5);
  EXPECT_EQ(after(TypeParam(0)).bits, Limits::denorm_min().bits);
  EXPECT_EQ(wide(Limits::min()), std::ldexp(1.0, Limits::min_exponent - 1));
  EXPECT_EQ(wide(Limits::denorm_min()), wide(Limits::min()) * wide(Limits::epsilon()));
  EXPECT_EQ(wide(Limits::max()), std::ldexp(2 - wide(Limits::epsilon()), Limits::max_exponent - 1));
  EXPECT_EQ(Limits::digits, 1 - std::ilogb(wide(Limits::epsilon())));
  EXPECT_EQ(Limits::max_exponent10, static_cast<int>(std::log10(wide(Limits::max()))));
  EXPECT_EQ(Limits::min_exponent10, static_cast<int>(std::log10(wide(Limits::min()))));
  EXPECT_EQ(Limits::digits10, static_cast<int>((Limits::digits - 1) * std::log10(2.0)));
  EXPECT_EQ(Limits::max_digits10, static_cast<int>(std::ceil(1 + Limits::digits * std::log10(2.0))));
}

// Just above the midpoint of two neighbours, by less than a double can represent.
TEST(Bfloat16, LargeIntegersRoundOnce) {
  for (int exponent = 54; exponent <= 62; ++exponent) {
    std::int64_t const middle = (std::int64_t{1} << exponent) + (std::int64_t{1} << (exponent - 8));
    auto const low = static_cast<float>(std::int64_t{1} << exponent);
    float const high = low + 2 * static_cast<float>(std::int64_t{1} << (exponent - 8));
    EXPECT_TRUE(same(bfloat16(middle), low));
    EXPECT_TRUE(same(bfloat16(middle + 1), high));
    EXPECT_TRUE(same(bfloat16(middle - 1), low));
    EXPECT_TRUE(same(bfloat16(-middle), -low));
    EXPECT_TRUE(same(bfloat16(-middle - 1), -high));
    EXPECT_TRUE(same(bfloat16(static_cast<std::uint64_t>(middle) + 1), high));
  }
  EXPECT_TRUE(same(bfloat16(std::numeric_limits<std::int64_t>::min()), -0x1p63F));
  EXPECT_TRUE(same(bfloat16(std::numeric_limits<std::int64_t>::max()), 0x1p63F));
  EXPECT_TRUE(same(bfloat16(std::numeric_limits<std::uint64_t>::max()), 0x1p64F));
}

TYPED_TEST(Float16, HandlesInfinitySignedZeroAndNaN) {
  float const infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(same(TypeParam(infinity), infinity));
  EXPECT_TRUE(same(TypeParam(-infinity), -infinity));
  EXPECT_TRUE(same(TypeParam(1e300), infinity));
  EXPECT_TRUE(same(TypeParam(-1e300), -infinity));
  EXPECT_TRUE(same(TypeParam(-0.0F), -0.0F));
  EXPECT_TRUE(same(TypeParam(-1e-300), -0.0F));
  EXPECT_TRUE(std::isnan(float{TypeParam(std::nanf(""))}));
  EXPECT_TRUE(std::isnan(float{TypeParam(std::nan(""))}));
  EXPECT_EQ(TypeParam().bits, 0);
}

TYPED_TEST(Float16, IntegersRoundOnce) {
  EXPECT_EQ(float{TypeParam(255)}, 255.0F);
  EXPECT_EQ(float{TypeParam(true)}, 1.0F);
  EXPECT_EQ(float{TypeParam(std::int64_t{-64})}, -64.0F);
  EXPECT_EQ(TypeParam((std::int64_t{1} << 40) + (std::int64_t{1} << 31) + 1).bits,
            TypeParam(std::nextafter(std::ldexp(1.0, 40) + std::ldexp(1.0, 31), 1e300)).bits);
}

TYPED_TEST(Float16, LongDoublesRoundOnce) {
  if (std::numeric_limits<long double>::digits == std::numeric_limits<double>::digits)
    GTEST_SKIP() << "long double is double";
  int const digits = std::numeric_limits<TypeParam>::digits;
  float const infinity = std::numeric_limits<float>::infinity();
  for (long double const sign : {1.0L, -1.0L}) {
    // Just above and just below the middle between 1 and the next value, by less than a double can say.
    long double const middle = 1 + std::ldexp(1.0L, -digits);
    long double const little = std::ldexp(1.0L, -60);
    float const next = 1 + std::ldexp(1.0F, 1 - digits);
    EXPECT_EQ(float{TypeParam(sign * (middle + little))}, static_cast<float>(sign) * next);
    EXPECT_EQ(float{TypeParam(sign * (middle - little))}, static_cast<float>(sign));
    EXPECT_EQ(float{TypeParam(sign * middle)}, static_cast<float>(sign)) << "half to even";
    EXPECT_TRUE(same(TypeParam(sign * std::numeric_limits<long double>::max()), static_cast<float>(sign) * infinity));
    EXPECT_TRUE(
        same(TypeParam(sign * std::numeric_limits<long double>::denorm_min()), static_cast<float>(sign) * 0.0F));
  }
  EXPECT_TRUE(std::isnan(float{TypeParam(std::numeric_limits<long double>::quiet_NaN())}));
}

TYPED_TEST(Float16, ArithmeticKeepsTypeAndMixedArithmeticPromotes) {
  TypeParam a = 1.5F;
  TypeParam const b = 2;
  static_assert(std::is_same_v<decltype(a + b), TypeParam>);
  static_assert(std::is_same_v<decltype(a + 1.0F), float>);
  static_assert(std::is_same_v<decltype(a * 2.0), double>);
  EXPECT_EQ(a + b, 3.5F);
  EXPECT_EQ(a - b, -0.5F);
  EXPECT_EQ(a * b, 3.0F);
  EXPECT_EQ(a / b, 0.75F);
  EXPECT_EQ(-a, -1.5F);
  EXPECT_LT(a, b);
  a += b;
  a -= 1;
  a *= 2.0;
  a /= b;
  EXPECT_EQ(a, 2.5F);
}

TEST(Float16, OverflowsAtIeeeThreshold) {
  EXPECT_EQ(float{float16(65519.0F)}, 65504.0F);
  EXPECT_TRUE(std::isinf(float{float16(65520.0F)}));
  EXPECT_EQ(float{float16(65519.999999999)}, 65504.0F);
  EXPECT_EQ(float16(1.0F).bits, 0x3C00);
  EXPECT_EQ(bfloat16(1.0F).bits, 0x3F80);
}

}  // namespace
}  // namespace memarray
