#include <memarray/strided/strided_layout.hpp>

#include <memarray/base/errors.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "array/array_test.hpp"

namespace memarray {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t itemsize = 8;

StridedLayout dense(Numbers const& shape) { return StridedLayout::dense(shape, itemsize); }
StridedLayout strided(Numbers const& shape, Numbers const& strides) {
  return StridedLayout::strided(shape, strides, itemsize);
}

/// Returns the distance of each element from the first, in C order.
Numbers offsets(StridedLayout const& layout, std::int64_t from = 0) {
  Numbers found;
  for (std::int64_t i = 0; i < layout.size(); ++i) {
    std::int64_t rest = i;
    std::int64_t offset = from;
    for (int d = layout.ndim(); d-- > 0;) {
      offset += rest % layout.extent(d) * layout.stride(d);
      rest /= layout.extent(d);
    }
    found.push_back(offset);
  }
  return found;
}

TEST(StridedLayout, DenseIsInCOrder) {
  StridedLayout const layout = dense({2, 3, 4});
  EXPECT_THAT(layout.shape(), ElementsAre(2, 3, 4));
  EXPECT_THAT(layout.strides(), ElementsAre(96, 32, 8));
  EXPECT_EQ(layout.size(), 24);
  EXPECT_TRUE(layout.is_contiguous(itemsize));
  EXPECT_FALSE(layout.is_fortran_contiguous(itemsize));
}

TEST(StridedLayout, WithoutDimensionsThereIsOneElement) {
  StridedLayout const layout;
  EXPECT_EQ(layout.size(), 1);
  EXPECT_THAT(layout.shape(), IsEmpty());
  EXPECT_TRUE(layout.is_contiguous(itemsize));
  EXPECT_TRUE(layout.is_fortran_contiguous(itemsize));
  EXPECT_EQ(layout.span(itemsize).last, 8);
}

TEST(StridedLayout, InvalidLayoutsAreRefused) {
  EXPECT_THROW(dense({2, -1}), ValueError);
  EXPECT_THROW(dense(Numbers(17, 1)), ValueError);
  EXPECT_NO_THROW(dense(Numbers(16, 2)));
  EXPECT_THROW(dense({most, 2}), OverflowError);
  EXPECT_THROW(dense({most}), OverflowError) << "in bytes";
  EXPECT_THROW(strided({2, 3}, {8}), ValueError);
  EXPECT_THROW(strided({3}, {most / 2}), OverflowError);
  EXPECT_THROW(strided({2, 2}, {most - 100, 101}), OverflowError);
  EXPECT_THROW(strided({2, 2}, {most / 2 + 2, -(most / 2 + 2)}), OverflowError) << "from one end to the other";
  EXPECT_THROW(strided({2}, {least}), OverflowError);
  EXPECT_EQ(strided({0, 2}, {most, most}), dense({0, 2})) << "no element is there";
  EXPECT_NO_THROW(strided({1}, {least}));
  EXPECT_THAT(test::message_of<ValueError>([] { dense(Numbers(17, 1)); }), HasSubstr("at most 16 dimensions, not 17"));
}

TEST(StridedLayout, ContiguityIgnoresUnusedStrides) {
  EXPECT_TRUE(strided({1, 3}, {-7, 8}).is_contiguous(itemsize));
  EXPECT_TRUE(strided({3, 1}, {8, 1000}).is_contiguous(itemsize));
  EXPECT_TRUE(strided({3, 0}, {1, 1}).is_contiguous(itemsize));
  EXPECT_FALSE(strided({3}, {-8}).is_contiguous(itemsize));
  EXPECT_FALSE(strided({3}, {0}).is_contiguous(itemsize));
  EXPECT_FALSE(strided({3}, {16}).is_contiguous(itemsize));
  EXPECT_TRUE(strided({2, 3}, {8, 16}).is_fortran_contiguous(itemsize));
  EXPECT_FALSE(strided({2, 3}, {8, 16}).is_contiguous(itemsize));
  EXPECT_TRUE(strided({3}, {8}).is_fortran_contiguous(itemsize));
}

TEST(StridedLayout, SpanCoversNegativeStrides) {
  auto const [first, last] = strided({3, 4}, {-100, 16}).span(itemsize);
  EXPECT_EQ(first, -200);
  EXPECT_EQ(last, 56);
  EXPECT_EQ(strided({3, 0}, {-100, 16}).span(itemsize).first, 0);
  EXPECT_EQ(strided({3, 0}, {-100, 16}).span(itemsize).last, 0);
}

TEST(StridedLayout, SlicesAsPythonDoes) {
  // Compares every start, stop and step of a small dimension with the written-out rule.
  std::array<std::int64_t, 17> const numbers{least, -100, -7, -6, -5, -3, -1, 0, 1, 2, 4, 5, 6, 7, 100, most - 1, most};
  for (std::int64_t extent : {0, 1, 5, 6})
    for (std::int64_t start : numbers)
      for (std::int64_t stop : numbers)
        for (std::int64_t step : numbers) {
          if (step == 0) continue;
          Numbers expected;
          __int128 const n = extent;
          auto const cut = [&](__int128 i) {
            if (i < 0) i += n;
            if (i < 0) return static_cast<__int128>(step > 0 ? 0 : -1);
            return i >= n ? (step > 0 ? n : n - 1) : i;
          };
          __int128 const end = cut(stop);
          for (__int128 i = cut(start); step > 0 ? i < end : i > end; i += step)
            expected.push_back(static_cast<std::int64_t>(i) * 8);
          StridedLayout layout = dense({extent});
          std::int64_t const from = layout.slice(0, {start, stop, step});
          ASSERT_EQ(offsets(layout, from), expected) << extent << "[" << start << ":" << stop << ":" << step << "]";
        }
}

TEST(StridedLayout, SlicesMayOmitStartAndStop) {
  StridedLayout layout = dense({4, 5});
  EXPECT_EQ(layout.slice(1, {.step = -1}), 32);
  EXPECT_THAT(layout.strides(), ElementsAre(40, -8));
  EXPECT_EQ(layout.slice(1, {.step = -2}), -32) << "the last of the flipped is the first";
  EXPECT_THAT(layout.shape(), ElementsAre(4, 3));
  EXPECT_THAT(layout.strides(), ElementsAre(40, 16));
  EXPECT_EQ(layout.slice(0, {.stop = -1}), 0);
  EXPECT_EQ(layout.extent(0), 3);
  EXPECT_EQ(layout.slice(0, {.start = 10}), 0) << "an empty view begins nowhere";
  EXPECT_EQ(layout.extent(0), 0);
  EXPECT_THROW(layout.slice(0, {.step = 0}), ValueError);
  EXPECT_THROW(layout.slice(2, {}), IndexError);
  EXPECT_THROW(layout.slice(-1, {}), IndexError);
}

TEST(StridedLayout, SelectsAndInserts) {
  StridedLayout layout = dense({4, 5, 6});
  EXPECT_EQ(layout.select(1, -1), 4 * 48);
  EXPECT_THAT(layout.shape(), ElementsAre(4, 6));
  EXPECT_THAT(layout.strides(), ElementsAre(240, 8));
  EXPECT_THROW(layout.select(0, 4), IndexError);
  EXPECT_THROW(layout.select(0, -5), IndexError);
  EXPECT_THROW(layout.select(0, least), IndexError);
  EXPECT_THROW(layout.select(2, 0), IndexError);
  layout.insert(1);
  layout.insert(3);
  EXPECT_THAT(layout.shape(), ElementsAre(4, 1, 6, 1));
  EXPECT_EQ(layout.stride(2), 8);
  EXPECT_THROW(layout.insert(5), IndexError);
  StridedLayout full = dense(Numbers(16, 1));
  EXPECT_THROW(full.insert(0), ValueError);
}

TEST(StridedLayout, EmptyLayoutsDoNotOverflow) {
  StridedLayout layout = strided({5, 0, 7}, {most / 2, most, -(most / 2)});
  EXPECT_EQ(layout.span(itemsize).last, 0);
  static_cast<void>(layout.slice(2, {.step = -3}));
  static_cast<void>(layout.select(0, -1));
  static_cast<void>(layout.slice(0, {.start = 3}));
  EXPECT_EQ(layout.size(), 0);
  EXPECT_EQ(dense({0, most / 2, 2}).size(), 0);
}

TEST(StridedLayout, SlicesOfEmptyLayoutsHaveOffsetZero) {
  constexpr std::int64_t much = 1LL << 30;
  StridedLayout layout = StridedLayout::dense(Numbers{0, much, much}, 16);
  EXPECT_EQ(layout.slice(1, {.start = much / 2, .step = -(much / 4)}), 0);
  EXPECT_EQ(layout.select(2, much - 1), 0);
  EXPECT_EQ(layout.slice(1, {.step = least}), 0);
  EXPECT_TRUE(layout.is_contiguous(16));
}

TEST(StridedLayout, LongStridesDoNotOverflow) {
  StridedLayout layout = strided({2, 2}, {8, 1LL << 62});
  EXPECT_FALSE(layout.reshape(Numbers{4}, itemsize));
  EXPECT_TRUE(layout.reshape(Numbers{2, 1, 2}, itemsize));
  StridedLayout repeated = strided({1LL << 29, 1LL << 30}, {0, 0});
  EXPECT_FALSE(repeated.is_contiguous(itemsize));
  EXPECT_FALSE(repeated.is_fortran_contiguous(itemsize));
  EXPECT_THROW(strided({1LL << 30, 1LL << 30}, {0, 0}), OverflowError) << "in bytes";
}

TEST(StridedLayout, Transposes) {
  StridedLayout layout = dense({2, 3, 4});
  layout.transpose();
  EXPECT_THAT(layout.shape(), ElementsAre(4, 3, 2));
  EXPECT_THAT(layout.strides(), ElementsAre(8, 32, 96));
  layout.transpose(std::array{-1, 0, 1});
  EXPECT_THAT(layout.shape(), ElementsAre(2, 4, 3));
  for (auto const& axes : std::vector<std::vector<int>>{{0, 1}, {0, 1, 1}, {0, 1, 3}, {0, 1, -4}, {0, 1, 2, 0}}) {
    EXPECT_THROW(layout.transpose(axes), ValueError);
    EXPECT_THAT(layout.shape(), ElementsAre(2, 4, 3)) << "as it was";
  }
  StridedLayout scalar;
  scalar.transpose();
  EXPECT_EQ(scalar.ndim(), 0);
}

TEST(StridedLayout, ReshapesWhereNoCopyIsNeeded) {
  StridedLayout layout = dense({2, 3, 4});
  ASSERT_TRUE(layout.reshape(Numbers{6, -1}, itemsize));
  EXPECT_THAT(layout.shape(), ElementsAre(6, 4));
  EXPECT_THAT(layout.strides(), ElementsAre(32, 8));

  StridedLayout column = dense({6, 4});
  column.slice(1, {0, 2, 1});
  ASSERT_TRUE(column.reshape(Numbers{2, 3, 1, 2}, itemsize)) << "each dimension alone";
  EXPECT_THAT(column.strides(), ElementsAre(96, 32, 16, 8));
  EXPECT_FALSE(column.reshape(Numbers{12}, itemsize)) << "rows have gaps";
  EXPECT_THAT(column.shape(), ElementsAre(2, 3, 1, 2)) << "as it was";

  StridedLayout flipped = dense({12});
  flipped.slice(0, {.step = -1});
  ASSERT_TRUE(flipped.reshape(Numbers{3, 4}, itemsize));
  EXPECT_THAT(flipped.strides(), ElementsAre(-32, -8));

  StridedLayout turned = dense({3, 4});
  turned.transpose();
  EXPECT_FALSE(turned.reshape(Numbers{12}, itemsize));
  EXPECT_TRUE(turned.reshape(Numbers{2, 2, 1, 3, 1}, itemsize));

  StridedLayout repeated;
  repeated.broadcast_to(Numbers{12});
  ASSERT_TRUE(repeated.reshape(Numbers{3, 4}, itemsize));
  EXPECT_THAT(repeated.strides(), ElementsAre(0, 0));
}

TEST(StridedLayout, ReshapeRefusesOtherSizes) {
  StridedLayout layout = dense({2, 6});
  EXPECT_THROW(static_cast<void>(layout.reshape(Numbers{5, -1}, itemsize)), ValueError);
  EXPECT_THROW(static_cast<void>(layout.reshape(Numbers{-1, -1}, itemsize)), ValueError);
  EXPECT_THROW(static_cast<void>(layout.reshape(Numbers{13}, itemsize)), ValueError);
  EXPECT_THROW(static_cast<void>(layout.reshape(Numbers{0, -1}, itemsize)), ValueError);
  EXPECT_THROW(static_cast<void>(layout.reshape(Numbers{-2}, itemsize)), ValueError);
  EXPECT_THROW(static_cast<void>(layout.reshape(Numbers(17, 1), itemsize)), ValueError);
  EXPECT_EQ(layout, dense({2, 6}));
  StridedLayout empty = dense({0, 3});
  EXPECT_TRUE(empty.reshape(Numbers{7, 0}, itemsize));
  EXPECT_TRUE(empty.reshape(Numbers{3, -1}, itemsize));
  EXPECT_THAT(empty.shape(), ElementsAre(3, 0));
  StridedLayout one = dense({1, 1});
  EXPECT_TRUE(one.reshape(Numbers{}, itemsize));
  EXPECT_EQ(one.ndim(), 0);
}

TEST(StridedLayout, BroadcastsByStridesOfZero) {
  StridedLayout layout = dense({3, 1});
  layout.broadcast_to(Numbers{2, 3, 4});
  EXPECT_THAT(layout.shape(), ElementsAre(2, 3, 4));
  EXPECT_THAT(layout.strides(), ElementsAre(0, 8, 0));
  EXPECT_THROW(layout.broadcast_to(Numbers{3, 4}), ValueError) << "dimensions are not dropped";
  EXPECT_THROW(layout.broadcast_to(Numbers{2, 3, 5}), ValueError);
  EXPECT_THROW(layout.broadcast_to(Numbers{2, 1, 4}), ValueError);
  EXPECT_THROW(layout.broadcast_to(Numbers{-1, 3, 4}), ValueError);
  StridedLayout scalar;
  EXPECT_THROW(scalar.broadcast_to(Numbers{most, 2}), OverflowError);
  scalar.broadcast_to(Numbers{0, 5});
  EXPECT_EQ(scalar.size(), 0);
}

TEST(StridedLayout, EveryOverlapIsDetected) {
  EXPECT_FALSE(dense({3, 4}).may_overlap(itemsize));
  EXPECT_TRUE(strided({3}, {0}).may_overlap(itemsize));
  EXPECT_TRUE(strided({3}, {4}).may_overlap(itemsize));
  EXPECT_TRUE(strided({3, 3}, {8, 8}).may_overlap(itemsize)) << "a sliding window";
  EXPECT_FALSE(strided({3, 1}, {-8, 0}).may_overlap(itemsize));
  EXPECT_FALSE(strided({0, 3}, {0, 0}).may_overlap(itemsize));
  // Compares layouts of any kind with a set of all bytes.
  std::mt19937 random(7);
  for (int trial = 0; trial < 3000; ++trial) {
    Numbers shape;
    Numbers strides;
    for (std::uint32_t d = 0; d < 1 + random() % 3; ++d) {
      shape.push_back(random() % 4);
      strides.push_back(static_cast<std::int64_t>(random() % 21) - 10);
    }
    StridedLayout const layout = StridedLayout::strided(shape, strides, 2);
    std::set<std::int64_t> bytes;
    for (std::int64_t const offset : offsets(layout)) bytes.insert({offset, offset + 1});
    if (bytes.size() < 2 * static_cast<std::size_t>(layout.size())) {
      ASSERT_TRUE(layout.may_overlap(2));
    }
  }
}

TEST(StridedLayout, SlicesOfDenseMemoryAreNotReportedAsOverlapping) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 1000; ++trial) {
    StridedLayout layout = dense({4, 5, 6});
    for (int d = 0; d < 3; ++d) {
      std::int64_t const step = static_cast<std::int64_t>(random() % 3) + 1;
      layout.slice(d, {.start = {}, .stop = {}, .step = random() % 2 ? step : -step});
    }
    layout.transpose(std::array{1, 2, 0});
    ASSERT_FALSE(layout.may_overlap(itemsize));
  }
}

}  // namespace
}  // namespace memarray
