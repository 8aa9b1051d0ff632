#include <memarray/base/float16.hpp>
#include <memarray/detail/base/add_wrapping.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>

namespace memarray::test {
namespace {

using detail::add_wrapping;

template <class T>
class AddWrappingTest : public ::testing::Test {};
using Integers = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                  std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(AddWrappingTest, Integers);

TYPED_TEST(AddWrappingTest, WrapsAtBothLimits) {
  using Limits = std::numeric_limits<TypeParam>;
  EXPECT_EQ(add_wrapping<TypeParam>(Limits::max(), 1), Limits::min());
  EXPECT_EQ(add_wrapping<TypeParam>(Limits::min(), static_cast<TypeParam>(-1)), Limits::max());
  EXPECT_EQ(add_wrapping<TypeParam>(100, 27), TypeParam{127});
}

TEST(AddWrapping, FloatingPointAndComplexUsePlainAddition) {
  EXPECT_EQ(add_wrapping(0.25, 0.5), 0.75);
  EXPECT_EQ(add_wrapping(std::complex<float>(1, 2), std::complex<float>(3, 4)), std::complex<float>(4, 6));
  static_assert(add_wrapping<std::int32_t>(INT32_MAX, 1) == INT32_MIN, "also where the compiler computes it");
}

}  // namespace
}  // namespace memarray::test
