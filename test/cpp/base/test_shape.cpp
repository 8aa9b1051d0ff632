#include <memarray/base/shape.hpp>

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include <memarray/base/errors.hpp>

namespace memarray {
namespace {

using Shape = std::vector<std::int64_t>;

TEST(Shape, SizeIsProductOfExtents) {
  EXPECT_EQ(checked_size(Shape{2, 4, 7}), 56);
  EXPECT_EQ(checked_size(Shape{}), 1);
  EXPECT_EQ(checked_size(Shape{5}), 5);
  EXPECT_EQ(checked_size(Shape{3, 0, 4}), 0);
  EXPECT_EQ(checked_size(Shape{0, 0}), 0);
  EXPECT_EQ(checked_size(Shape{std::numeric_limits<std::int64_t>::max(), 1}), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(checked_size(Shape{std::int64_t{1} << 31, (std::int64_t{1} << 32) - 1}), ((std::int64_t{1} << 32) - 1)
                                                                                         << 31);
}

TEST(Shape, TooManyElementsAreAnOverflow) {
  EXPECT_THROW(checked_size(Shape{std::int64_t{1} << 32, std::int64_t{1} << 31}), OverflowError);
  EXPECT_THROW(checked_size(Shape{std::numeric_limits<std::int64_t>::max(), 2}), OverflowError);
  EXPECT_THROW(checked_size(Shape{0, std::int64_t{1} << 62, 4}), OverflowError) << "its strides have no number";
}

TEST(Shape, NegativeExtentsAreRefusedWithShapeInMessage) {
  for (Shape const& shape : {Shape{-1}, Shape{4, -3, 0}, Shape{0, std::numeric_limits<std::int64_t>::min()}}) {
    EXPECT_THROW(checked_size(shape), ValueError);
  }
  try {
    checked_size(Shape{4, -3});
    FAIL();
  } catch (ValueError const& error) {
    EXPECT_NE(std::string(error.what()).find("(4, -3)"), std::string::npos) << error.what();
  }
}

TEST(Shape, SizeInBytesMustFitInSignedOffset) {
  EXPECT_EQ(checked_bytes(56, 8), 448U);
  EXPECT_EQ(checked_bytes(0, 16), 0U);
  EXPECT_EQ(checked_bytes(std::numeric_limits<std::int64_t>::max(), 1),
            static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()));
  EXPECT_THROW(checked_bytes((std::int64_t{1} << 62), 2), OverflowError);
  EXPECT_THROW(checked_bytes(2, std::numeric_limits<std::size_t>::max()), OverflowError);
  EXPECT_THROW(checked_bytes(-1, 8), ValueError);
}

TEST(Shape, StridesAreRowMajor) {
  std::array<std::int64_t, 3> strides{};
  c_strides(std::array<std::int64_t, 3>{2, 4, 7}, strides);
  EXPECT_EQ(strides, (std::array<std::int64_t, 3>{28, 7, 1}));
  c_strides(std::array<std::int64_t, 3>{2, 0, 7}, strides);
  EXPECT_EQ(strides, (std::array<std::int64_t, 3>{7, 7, 1}));
  c_strides({}, {});
}

TEST(Shape, PrintsLikePythonTuple) {
  EXPECT_EQ(shape_text(Shape{}), "()");
  EXPECT_EQ(shape_text(Shape{4}), "(4,)");
  EXPECT_EQ(shape_text(Shape{4, 5}), "(4, 5)");
}

}  // namespace
}  // namespace memarray
