#include "strided/vectors.hpp"

#include <gtest/gtest.h>

namespace memarray::detail {
namespace {

TEST(Vectors, TheLimitHolds) {
  Vectors const widest = widest_vectors();
  Vectors const before = limit_vectors(Vectors::baseline);
  EXPECT_EQ(widest_vectors(), Vectors::baseline);
  EXPECT_EQ(limit_vectors(before), Vectors::baseline);
  EXPECT_EQ(widest_vectors(), widest);
}

}  // namespace
}  // namespace memarray::detail
