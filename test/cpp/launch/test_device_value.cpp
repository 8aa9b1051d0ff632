// The values that a device reduces, computed on the host at each linear position. The expected values come from nested
// loops over the indices.

#include <memarray/detail/launch/device_value.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "launch/strided_memory_test.hpp"

namespace memarray::test {
namespace {

using detail::device_value;
using detail::ElementArgument;
using detail::HostKernel;
using detail::IndexArray;
using detail::IndexerArgument;
using detail::StridedElementArgument;

template <class IndexT, int ndim>
struct Weigh {
  std::int64_t weight;

  /// Changes its own state, which no other call may see.
  std::int64_t operator()(IndexArray<IndexT, ndim> const& i, float const& dense, std::int64_t const& strided,
                          StridedIndexer<std::int16_t const, ndim> from) {
    for (std::size_t d = 0; d < i.size(); ++d) weight = 10 * weight + i[d];
    return weight + static_cast<std::int64_t>(dense) + 100 * strided + 10'000 * from[i];
  }
};

template <class IndexT, int ndim>
void expect_value_of_each_index() {
  Chance chance;
  int parts = 0;
  for (int round = 0; round < 60; ++round) {
    bool const is_whole = round % 3 == 0;
    ChosenBox<ndim> const box(chance, is_whole);
    parts += static_cast<int>(box.extents != box.shape);
    StridedMemory<float, ndim> dense(chance, box.shape, StridedMemory<float, ndim>::Strides::dense);
    StridedMemory<std::int64_t, ndim> strided(chance, box.shape, StridedMemory<std::int64_t, ndim>::Strides::any);
    StridedMemory<std::int16_t, ndim> from(chance, box.shape, StridedMemory<std::int16_t, ndim>::Strides::any);
    StridedIndexer<std::int64_t const, ndim> const reader = strided.reader();

    using Kernel = HostKernel<IndexT, ndim, Weigh<IndexT, ndim>, ElementArgument<float const, ndim>,
                              StridedElementArgument<std::int64_t const, ndim>,
                              IndexerArgument<StridedIndexer<std::int16_t const, ndim>>>;
    Kernel const kernel{{3},
                        box.launched(),
                        {{dense.template element<float const>(dense.elements.data())}, {{reader}}, {{from.reader()}}}};
    auto const value = device_value<std::int64_t>(kernel, is_whole);
    static_assert(std::is_same_v<decltype(value(0)), std::int64_t>);
    std::int64_t position = 0;
    visit_box(box.begin, box.extents, [&](Numbers<ndim> const& i) {
      std::int64_t expected = 3;
      for (std::int64_t const index : i) expected = 10 * expected + index;
      expected += static_cast<std::int64_t>(dense.elements[dense.at(i)]) + 100 * strided.elements[strided.at(i)] +
                  10'000 * from.elements[from.at(i)];
      EXPECT_EQ(value(position), expected) << position;
      ++position;
    });
    EXPECT_EQ(position, kernel.box.size());
  }
  EXPECT_GT(parts, 20);
}

template <int ndim>
void expect_each_width() {
  expect_value_of_each_index<std::int32_t, ndim>();
  expect_value_of_each_index<std::int64_t, ndim>();
}

TEST(DeviceValueTest, PositionsGiveTheValuesOfTheirIndicesInOneDimension) { expect_each_width<1>(); }
TEST(DeviceValueTest, PositionsGiveTheValuesOfTheirIndicesInTwoDimensions) { expect_each_width<2>(); }
TEST(DeviceValueTest, PositionsGiveTheValuesOfTheirIndicesInThreeDimensions) { expect_each_width<3>(); }
TEST(DeviceValueTest, PositionsGiveTheValuesOfTheirIndicesInFourDimensions) { expect_each_width<4>(); }

TEST(DeviceValueTest, IndicesBeyond32BitsAreWhole) {
  constexpr std::int64_t far = std::int64_t{1} << 33;
  int const element = 4;
  auto const f = [](IndexArray<std::int64_t, 1> const& i, StridedIndexer<int const, 1> from) { return i[0] + from[i]; };
  using Argument = IndexerArgument<StridedIndexer<int const, 1>>;
  HostKernel<std::int64_t, 1, decltype(f), Argument> const kernel{f, {{7}, {far}}, {{{{&element, {far + 7}, {0}}}}}};
  auto const value = device_value<std::int64_t>(kernel, false);
  for (std::int64_t const position : {std::int64_t{0}, far / 2, far - 1}) EXPECT_EQ(value(position), position + 7 + 4);
}

TEST(DeviceValueTest, ElementsThatTheFunctorChangesAreStored) {
  std::vector<double> elements{1, 2, 3};
  auto const f = [](IndexArray<std::int32_t, 1> const&, double& x) { return x++; };
  HostKernel<std::int32_t, 1, decltype(f), ElementArgument<double, 1>> const kernel{
      f, {{0}, {3}}, {{{elements.data(), elements.data(), {1}}}}};
  auto const value = device_value<float>(kernel, true);
  EXPECT_EQ(value(1), 2.0F);
  EXPECT_EQ(elements, (std::vector{1.0, 3.0, 3.0}));
}

TEST(DeviceValueTest, BoxWithExtentZeroDoesNotDivideByIt) {
  auto const f = [](IndexArray<std::int64_t, 2> const& i) { return i[1]; };
  HostKernel<std::int64_t, 2, decltype(f)> const kernel{f, {{3, 5}, {2, 0}}, {}};
  EXPECT_EQ(device_value<std::int64_t>(kernel, false)(0), 5) << "no division by an extent of 0";
}

}  // namespace
}  // namespace memarray::test
