#include <memarray/kernel/operations.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

namespace memarray {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

static_assert(plus{}(2, 3) == 5 && minimum{}(-1, 2) == -1 && maximum{}(-1, 2) == 2);
static_assert(logical_and{}(true, true) && !logical_and{}(true, false) && logical_or{}(false, true));

TEST(Operations, SumsOfIntegersWrap) {
  EXPECT_EQ(plus{}(std::numeric_limits<std::int64_t>::max(), std::int64_t{1}),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(plus{}(std::numeric_limits<std::int8_t>::min(), std::int8_t{-1}), std::numeric_limits<std::int8_t>::max());
  EXPECT_EQ(plus{}(std::complex<float>(1, 2), std::complex<float>(3, -2)), std::complex<float>(4, 0));
}

TEST(Operations, ExtremesOrderInfinitiesAndSpecialValues) {
  EXPECT_EQ(minimum{}(inf, -inf), -inf);
  EXPECT_EQ(maximum{}(-inf, inf), inf);
  EXPECT_EQ(minimum{}(std::uint8_t{255}, std::uint8_t{0}), 0);
  EXPECT_EQ(maximum{}(std::numeric_limits<float>::denorm_min(), 0.0F), std::numeric_limits<float>::denorm_min());
}

TEST(Operations, ExtremesPropagateNaNFromEitherSide) {
  for (double const other : {0.0, -0.0, inf, -inf, nan_value}) {
    EXPECT_TRUE(std::isnan(minimum{}(nan_value, other)));
    EXPECT_TRUE(std::isnan(minimum{}(other, nan_value)));
    EXPECT_TRUE(std::isnan(maximum{}(nan_value, other)));
    EXPECT_TRUE(std::isnan(maximum{}(other, nan_value)));
  }
}

struct OnlyLess {
  int value;
  bool operator<(OnlyLess const& other) const { return value < other.value; }
};

TEST(Operations, ExtremesNeedNoOtherComparison) {
  EXPECT_EQ(minimum{}(OnlyLess{2}, OnlyLess{1}).value, 1);
  EXPECT_EQ(maximum{}(OnlyLess{2}, OnlyLess{1}).value, 2);
}

}  // namespace
}  // namespace memarray
