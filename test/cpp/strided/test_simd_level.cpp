#include "strided/simd_level.hpp"

#include <gtest/gtest.h>

namespace memarray::detail {
namespace {

TEST(SimdLevel, LimitIsAppliedAndRestored) {
  SimdLevel const widest = widest_simd_level();
  SimdLevel const before = limit_simd_level(SimdLevel::baseline);
  EXPECT_EQ(widest_simd_level(), SimdLevel::baseline);
  EXPECT_EQ(limit_simd_level(before), SimdLevel::baseline);
  EXPECT_EQ(widest_simd_level(), widest);
}

}  // namespace
}  // namespace memarray::detail
