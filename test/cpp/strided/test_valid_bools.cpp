#include "strided/valid_bools.hpp"

#include <memarray/base/struct_fields.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace memarray::test {

struct Marked {
  std::int16_t id;
  bool marks[2];
  bool is_last;
};

}  // namespace memarray::test

MEMARRAY_FIELDS(memarray::test::Marked, id, marks, is_last);

namespace memarray::detail {
namespace {

using test::Marked;

std::byte* bytes_of(auto& numbers) { return reinterpret_cast<std::byte*>(numbers.data()); }

TEST(ValidBoolsTest, HasBoolsIsTrueForBoolsAndStructsWithBools) {
  EXPECT_TRUE(has_bools(dtype_of<bool>()));
  EXPECT_TRUE(has_bools(dtype_of<Marked>()));
  EXPECT_FALSE(has_bools(dtype_of<std::uint8_t>()));
  EXPECT_FALSE(has_bools(dtype_of<double>()));
}

TEST(ValidBoolsTest, BytesOtherThan0And1AreFoundInAnyLayout) {
  std::array<std::uint8_t, 4> numbers{0, 2, 1, 255};
  auto const is_invalid = [&](std::int64_t stride, std::int64_t size, std::size_t first) {
    auto const layout = StridedLayout::strided(std::array{size}, std::array{stride}, 1);
    return has_invalid_bools(dtype_of<bool>(), bytes_of(numbers) + first, layout);
  };
  EXPECT_TRUE(is_invalid(1, 4, 0));
  EXPECT_FALSE(is_invalid(2, 2, 0));
  EXPECT_TRUE(is_invalid(-2, 2, 3));
  EXPECT_FALSE(is_invalid(0, 9, 2));
  EXPECT_TRUE(is_invalid(0, 9, 1));
  EXPECT_FALSE(is_invalid(1, 0, 1));
}

TEST(ValidBoolsTest, DenseBoolsBecome0And1) {
  std::array<std::uint8_t, 6> numbers{0, 1, 2, 127, 128, 255};
  make_bools_valid(dtype_of<bool>(), bytes_of(numbers), 5);
  EXPECT_EQ(numbers, (std::array<std::uint8_t, 6>{0, 1, 1, 1, 1, 255}));
  make_bools_valid(dtype_of<bool>(), bytes_of(numbers), 0);
  make_bools_valid(dtype_of<std::uint8_t>(), bytes_of(numbers), 6);
  EXPECT_EQ(numbers[5], 255);
}

TEST(ValidBoolsTest, BoolsOfOneElementBecome0And1) {
  for (auto const& [number, valid] : {std::pair(0, 0), std::pair(1, 1), std::pair(2, 1), std::pair(255, 1)}) {
    std::array<std::uint8_t, 2> numbers{static_cast<std::uint8_t>(number), 9};
    make_element_valid(dtype_of<bool>(), bytes_of(numbers));
    EXPECT_EQ(numbers, (std::array<std::uint8_t, 2>{static_cast<std::uint8_t>(valid), 9}));
  }
  std::array<std::uint8_t, 12> numbers{7, 255, 1, 3, 2, 9, 8, 2, 0, 3, 4, 9};
  make_element_valid(dtype_of<Marked>(), bytes_of(numbers));
  make_element_valid(dtype_of<std::uint8_t>(), bytes_of(numbers) + 6);
  EXPECT_EQ(numbers, (std::array<std::uint8_t, 12>{7, 255, 1, 1, 1, 9, 8, 2, 0, 3, 4, 9}));
}

TEST(ValidBoolsTest, OnlyBoolsOfStructsChange) {
  static_assert(sizeof(Marked) == 6);
  std::array<std::uint8_t, 12> numbers{7, 255, 1, 0, 2, 9, 8, 2, 0, 3, 0, 9};
  make_bools_valid(dtype_of<Marked>(), bytes_of(numbers), numbers.size());
  EXPECT_EQ(numbers, (std::array<std::uint8_t, 12>{7, 255, 1, 0, 1, 9, 8, 2, 0, 1, 0, 9}));
}

}  // namespace
}  // namespace memarray::detail
