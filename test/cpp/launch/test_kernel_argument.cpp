// Arguments as a device's threads open them, run on the host for each thread of a grid. The expected memory comes from
// nested loops over the indices.

#include <memarray/detail/launch/kernel_argument.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "launch/grid_test.hpp"
#include "launch/strided_memory_test.hpp"

namespace memarray::test {
namespace {

using detail::DeviceLoop;
using detail::ElementArgument;
using detail::HostKernel;
using detail::IndexArray;
using detail::IndexerArgument;
using detail::StridedElementArgument;

template <class Indices>
std::int64_t number_of(Indices const& indices) {
  std::int64_t number = 7;
  for (std::size_t d = 0; d < indices.size(); ++d) number = 10 * number + indices[d];
  return number;
}

/// A kernel over each kind of argument.
template <class IndexT, int ndim>
struct Combine {
  void operator()(IndexArray<IndexT, ndim> const& i, std::int64_t& strided, double& dense,
                  StridedIndexer<std::int16_t const, ndim> from, StridedIndexer<std::int32_t, ndim> to) const {
    strided += 3 * from[i] + number_of(i);
    dense += static_cast<double>(number_of(i));
    to[i] = static_cast<std::int32_t>(2 * to[i] + from[i]);
  }
};

/// The strides in the layouts of a test.
struct Seen {
  int negative = 0;
  int zero = 0;
  int parts = 0;
};

template <class IndexT, class U, int ndim>
void expect_each_index_once(Chance& chance, unsigned blocks, unsigned threads, Seen& seen) {
  bool const is_whole = chance.below(3) == 0;
  ChosenBox<ndim> const box(chance, is_whole);
  using Strides = typename StridedMemory<double, ndim>::Strides;
  StridedMemory<std::int64_t, ndim> strided(chance, box.shape, StridedMemory<std::int64_t, ndim>::Strides::apart);
  StridedMemory<double, ndim> dense(chance, box.shape, Strides::dense);
  StridedMemory<std::int16_t, ndim> from(chance, box.shape, StridedMemory<std::int16_t, ndim>::Strides::any);
  StridedMemory<std::int32_t, ndim> to(chance, box.shape, StridedMemory<std::int32_t, ndim>::Strides::apart);
  seen.negative += static_cast<int>(std::ranges::count_if(strided.strides, [](auto stride) { return stride < 0; }));
  seen.zero += static_cast<int>(std::ranges::count(from.strides, 0));
  seen.parts += static_cast<int>(box.extents != box.shape);

  // The dense elements of an array with escaped views: read from the old memory, written to the new.
  std::vector<double> const old(dense.elements.size(), 0.5);
  auto expected_strided = strided.elements;
  auto expected_dense = dense.elements;
  auto expected_to = to.elements;
  visit_box(box.begin, box.extents, [&](Numbers<ndim> const& i) {
    std::int64_t const read = from.elements[from.at(i)];
    expected_strided[strided.at(i)] += 3 * read + number_of(i);
    expected_dense[dense.at(i)] = 0.5 + static_cast<double>(number_of(i));
    std::int32_t& target = expected_to[to.at(i)];
    target = static_cast<std::int32_t>(2 * target + read);
  });

  using Kernel = HostKernel<IndexT, ndim, Combine<IndexT, ndim>, StridedElementArgument<std::int64_t, ndim>,
                            ElementArgument<double, ndim>, IndexerArgument<StridedIndexer<std::int16_t const, ndim>>,
                            IndexerArgument<StridedIndexer<std::int32_t, ndim>>>;
  Kernel const kernel{
      {}, box.launched(), {{{strided.indexer()}}, {dense.element(old.data())}, {{from.reader()}}, {{to.indexer()}}}};
  auto const loop = detail::device_loop<U>(kernel, is_whole);
  static_assert(std::is_same_v<decltype(loop.size), U>);
  static_assert(loop.width == 0, "vectors need dense elements alone");
  run_on_grid(loop, blocks, threads);
  EXPECT_EQ(strided.elements, expected_strided);
  EXPECT_EQ(dense.elements, expected_dense);
  EXPECT_EQ(to.elements, expected_to);
}

template <int ndim>
void expect_each_width() {
  Chance chance;
  Seen seen;
  for (int round = 0; round < 40; ++round)
    for (auto const& [blocks, threads] : {std::pair(1U, 1U), std::pair(2U, 3U), std::pair(4U, 64U)}) {
      SCOPED_TRACE(std::to_string(blocks) + " blocks of " + std::to_string(threads));
      expect_each_index_once<std::int32_t, std::uint32_t, ndim>(chance, blocks, threads, seen);
      expect_each_index_once<std::int64_t, std::uint32_t, ndim>(chance, blocks, threads, seen);
      expect_each_index_once<std::int64_t, std::uint64_t, ndim>(chance, blocks, threads, seen);
    }
  EXPECT_GT(seen.negative, 20);
  EXPECT_GT(seen.zero, 20);
  EXPECT_GT(seen.parts, 20);
}

TEST(KernelArgumentTest, AnyStridesAndRangesAreVisitedInOneDimension) { expect_each_width<1>(); }
TEST(KernelArgumentTest, AnyStridesAndRangesAreVisitedInTwoDimensions) { expect_each_width<2>(); }
TEST(KernelArgumentTest, AnyStridesAndRangesAreVisitedInThreeDimensions) { expect_each_width<3>(); }
TEST(KernelArgumentTest, AnyStridesAndRangesAreVisitedInFourDimensions) { expect_each_width<4>(); }

/// Records the indices that a thread sees.
struct Record {
  std::vector<std::int64_t>* seen;
  void operator()(IndexArray<std::int64_t, 2> const& i, StridedIndexer<int const, 2> from) const {
    seen->insert(seen->end(), {i[0], i[1], from[i]});
  }
};

TEST(KernelArgumentTest, IndicesBeyond32BitsReachElementsWithoutAStride) {
  constexpr std::int64_t far = std::int64_t{1} << 33;
  int const elements[] = {5, 6, 7};
  std::vector<std::int64_t> seen;
  StridedIndexer<int const, 2> const from{elements, {far + 2, 3}, {0, 1}};
  using Kernel = HostKernel<std::int64_t, 2, Record, IndexerArgument<StridedIndexer<int const, 2>>>;
  Kernel const kernel{{&seen}, {{far, 1}, {2, 2}}, {{{from}}}};
  run_on_grid(detail::device_loop<std::uint64_t>(kernel, false), 1, 1);
  EXPECT_EQ(seen, (std::vector{far, std::int64_t{1}, std::int64_t{6}, far, std::int64_t{2}, std::int64_t{7}, far + 1,
                               std::int64_t{1}, std::int64_t{6}, far + 1, std::int64_t{2}, std::int64_t{7}}));
}

TEST(KernelArgumentTest, ElementsAreStoredOnlyWhenTheyAreClosed) {
  std::array<int, 3> elements{1, 2, 3};
  StridedElementArgument<int, 1> const argument{{elements.data() + 2, {3}, {-1}}};
  auto opened = argument.open(std::uint32_t{2}, IndexArray<std::int64_t, 1>{2}, false);
  opened.argument() += 10;
  EXPECT_EQ(elements[0], 1);
  opened.close();
  EXPECT_EQ(elements, (std::array{11, 2, 3}));

  StridedElementArgument<int const, 1> const reader{{elements.data(), {3}, {1}}};
  auto read = reader.open(std::uint32_t{1}, IndexArray<std::int64_t, 1>{1}, false);
  static_assert(std::is_same_v<decltype(read.argument()), int const&>);
  EXPECT_EQ(read.argument(), 2);
  read.close();
  EXPECT_EQ(elements[1], 2);
}

}  // namespace
}  // namespace memarray::test
