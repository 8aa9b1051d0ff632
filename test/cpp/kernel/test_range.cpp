#include <memarray/kernel/range.hpp>
#include <memarray/kernel/reduce.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel/places_test.hpp"

namespace memarray::test {
namespace {

TEST(Range, BracedListsDeduceTheRank) {
  std::int64_t const n = 5;
  std::size_t const m = std::string(7, ' ').size();  // not a constant
  int const k = 2;
  auto const two = range({1, k}, {n - 1, m});
  static_assert(std::is_same_v<decltype(two), Range<2> const>);
  EXPECT_EQ(two, (Range<2>{{1, 2}, {4, 7}}));
  EXPECT_EQ(two.shape(), (std::array<std::int64_t, 2>{3, 5}));
  EXPECT_EQ(range({0, 0, 0}, {n, n, m}).shape(), (std::array<std::int64_t, 3>{5, 5, 7}));
  EXPECT_EQ(range(1, n).shape(), (std::array<std::int64_t, 1>{4}));
  EXPECT_EQ(range({1}, {n}), range(1, n));
  EXPECT_EQ(range(std::array<std::int64_t, 1>{2}, {9}), range(2, 9));
}

TEST(Range, EndBeforeBeginIsEmpty) {
  EXPECT_EQ(range({3, 0}, {1, 4}).shape(), (std::array<std::int64_t, 2>{0, 4}));
  EXPECT_EQ(interior({1, 9}).shape(), (std::array<std::int64_t, 2>{0, 7}));
  EXPECT_EQ(interior({3, 9}, 2).shape(), (std::array<std::int64_t, 2>{0, 5}));
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(interior({3}, largest).shape()[0], 0);
  EXPECT_EQ(interior({largest}, -largest - 1).end[0], largest);
  EXPECT_EQ(interior({3}, -2), range({-2}, {5}));
  EXPECT_EQ(interior(std::array<std::int64_t, 3>{4, 5, 6}, 1), range({1, 1, 1}, {3, 4, 5}));
}

class RangeTest : public PlacesTest {};
INSTANTIATE_TEST_SUITE_P(Places, RangeTest, ::testing::Values(1, 2, 0), name_of_place);

template <std::size_t ndim>
bool is_in(Range<ndim> const& range, std::array<std::int64_t, ndim> const& indices) {
  bool inside = true;
  for (std::size_t d = 0; d < ndim; ++d) inside = inside && indices[d] >= range.begin[d] && indices[d] < range.end[d];
  return inside;
}

template <int ndim>
std::array<std::int64_t, ndim> indices_of(std::array<std::int64_t, ndim> const& shape, std::int64_t linear) {
  std::array<std::int64_t, ndim> indices{};
  for (std::size_t d = ndim; d-- > 0; linear /= shape[d]) indices[d] = linear % shape[d];
  return indices;
}

/// Writes the linear position through an indexer, and adds 1000 to an element.
template <int ndim>
struct Mark {
  template <class Indices, class Array, class T>
  void operator()(Indices const& indices, Array const& to, T& element) const {
    to[indices] = static_cast<T>(to(indices));
    element += 1000;
  }
};

template <int ndim>
void visits_exactly(std::array<std::int64_t, ndim> const& shape, Range<ndim> const& range, auto const& place,
                    auto const& fetched) {
  MemArray<std::int64_t, ndim> written(shape);
  MemArray<std::int64_t, ndim> updated(shape);
  written.fill(-1);
  count_up(updated);
  place(written);
  place(updated);
  for_each_index(range, default_stream(), Mark<ndim>(), write(written), update(updated));
  auto const seen = fetched(written);
  auto const changed = fetched(updated);
  for (std::int64_t i = 0; i < written.get_size(); ++i) {
    bool const inside = is_in(range, indices_of<ndim>(shape, i));
    ASSERT_EQ(seen[static_cast<std::size_t>(i)], inside ? i : -1) << i;
    ASSERT_EQ(changed[static_cast<std::size_t>(i)], i % 100 + (inside ? 1000 : 0)) << i;
  }
}

TEST_P(RangeTest, ExactlyTheIndicesOfTheRangeAreVisited) {
  auto const put = [&](auto& array) { place(array); };
  auto const get = [&](auto& array) { return fetched(array); };
  visits_exactly<1>({50}, range(3, 41), put, get);
  visits_exactly<1>({50}, range(0, 50), put, get);
  visits_exactly<1>({50}, range(7, 7), put, get);
  visits_exactly<2>({9, 12}, interior({9, 12}), put, get);
  visits_exactly<2>({400, 700}, range({1, 0}, {399, 700}), put, get);
  std::mt19937 random(5);
  for (int trial = 0; trial < 30; ++trial) {
    std::array<std::int64_t, 3> shape{};
    Range<3> part{};
    for (std::size_t d = 0; d < 3; ++d) {
      shape[d] = random() % 9;
      part.begin[d] = static_cast<std::int64_t>(random() % static_cast<unsigned>(shape[d] + 1));
      part.end[d] =
          part.begin[d] + static_cast<std::int64_t>(random() % static_cast<unsigned>(shape[d] - part.begin[d] + 1));
    }
    visits_exactly<3>(shape, part, put, get);
  }
  visits_exactly<4>({3, 4, 5, 6}, range({1, 0, 2, 3}, {3, 4, 3, 6}), put, get);
}

TEST_P(RangeTest, PartOfAnArrayKeepsTheRestUnderEscapedViews) {
  for (bool const overwrites : {false, true}) {
    MemArray<std::int64_t, 2> array({60, 70});
    count_up(array);
    place(array);
    ConstBufferView const view = array.view();
    auto const part = interior(array.get_shape());
    if (overwrites)
      for_each_index(part, default_stream(), [](auto const& i, auto to) { to[i] = -7; }, overwrite(array));
    else
      for_each_index(part, default_stream(), [](auto const&, std::int64_t& e) { e = -e - 7; }, update(array));
    EXPECT_EQ(versions(), overwrites ? 2 : 1);
    auto const now = fetched(array);
    ConstBufferView const kept = view.to_device(Device{});
    auto const* const old = reinterpret_cast<std::int64_t const*>(kept.core().data());
    for (std::int64_t i = 0; i < array.get_size(); ++i) {
      ASSERT_EQ(old[i], i % 100);
      bool const inside = is_in(part, indices_of<2>(array.get_shape(), i));
      ASSERT_EQ(now[static_cast<std::size_t>(i)], !inside ? i % 100 : overwrites ? -7 : -(i % 100) - 7) << i;
    }
  }
}

TEST_P(RangeTest, CopyOfMostOfAnArrayIsReported) {
  MemArray<double, 2> array({100, 100});
  place(array);
  ConstBufferView const view = array.view();
  std::int64_t const before = copies();
  for_each_index(interior({100, 100}), default_stream(), [](auto const&, double& e) { e = 1; }, update(array));
  EXPECT_EQ(copies() - before, 0) << "the rest is a border";
  ConstBufferView const other = array.view();
  for_each_index(range({0, 0}, {1, 100}), default_stream(), [](auto const&, double& e) { e = 2; }, update(array));
  EXPECT_EQ(copies() - before, 1);
}

TEST_P(RangeTest, EmptyPartUnderEscapedViewsKeepsTheContents) {
  MemArray<int, 2> array({4, 5});
  count_up(array);
  place(array);
  ConstBufferView const view = array.view();
  for_each_index(range({2, 2}, {2, 4}), default_stream(), [](auto const&, int& e) { e = -1; }, update(array));
  auto const now = fetched(array);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(now[static_cast<std::size_t>(i)], i);
}

TEST_P(RangeTest, RowsOfAnArrayAreOverwrittenByTheirLeadingIndices) {
  MemArray<int, 3> array({3, 4, 5});
  place(array);
  ConstBufferView const view = array.view();
  for_each_index(
      {3, 4}, default_stream(),
      [](auto const& i, auto to) {
        for (int k = 0; k < 5; ++k) to[{i[0], i[1], k}] = static_cast<int>(100 * i[0] + 10 * i[1]) + k;
      },
      overwrite(array));
  EXPECT_EQ(copies(), devices ? 1 : 0) << "no copy but the move";
  auto const now = fetched(array);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(now[static_cast<std::size_t>(i)], 100 * (i / 20) + 10 * (i / 5 % 4) + i % 5);
}

/// Overwrites the rows that `part` of the leading indices names, under an escaped view.
template <int leading>
void overwrites_rows_of(Range<leading> const& part, auto const& place, auto const& fetched) {
  std::array<std::int64_t, 3> const shape{12, 9, 40};
  MemArray<double, 3> array(shape);
  count_up(array);
  place(array);
  ConstBufferView const view = array.view();
  for_each_index(
      part, default_stream(),
      [](auto const& i, auto to) {
        std::int64_t const last = leading == 1 ? 9 : i[leading - 1] + 1;
        for (std::int64_t j = leading == 1 ? 0 : i[leading - 1]; j < last; ++j)
          for (std::int64_t k = 0; k < 40; ++k) to[{i[0], j, k}] = -static_cast<double>(i[0] + k) - 1;
      },
      overwrite(array));
  auto const now = fetched(array);
  ConstBufferView const kept = view.to_device(Device{});
  auto const* const old = reinterpret_cast<double const*>(kept.core().data());
  for (std::int64_t i = 0; i < array.get_size(); ++i) {
    auto const indices = indices_of<3>(shape, i);
    std::array<std::int64_t, static_cast<std::size_t>(leading)> row{};
    std::copy_n(indices.begin(), leading, row.begin());
    ASSERT_EQ(old[i], static_cast<double>(i % 100)) << i;
    ASSERT_EQ(now[static_cast<std::size_t>(i)],
              is_in(part, row) ? -static_cast<double>(indices[0] + indices[2]) - 1 : old[i])
        << i;
  }
}

TEST_P(RangeTest, RowsInARangeAreOverwrittenAndTheRestIsKeptUnderEscapedViews) {
  auto const put = [&](auto& array) { place(array); };
  auto const get = [&](auto& array) { return fetched(array); };
  for (auto const& part : {range(0, 12), range(3, 10), range(0, 5), range(11, 12), range(4, 4)})
    overwrites_rows_of<1>(part, put, get);
  for (auto const& part : {range({0, 0}, {12, 9}), interior({12, 9}), range({0, 2}, {12, 9}), range({5, 0}, {6, 9}),
                           range({3, 3}, {3, 9})})
    overwrites_rows_of<2>(part, put, get);
}

TEST_P(RangeTest, RangeOutsideAnUpdatedArrayIsRefused) {
  MemArray<int, 2> array({3, 4});
  MemArray<int, 2> other({5, 5});
  count_up(array);
  place(array);
  place(other);
  auto const fails = [](auto const&, int& e) { e = -1; };
  for (Range<2> const& part : {range({-1, 0}, {2, 2}), range({0, 0}, {3, 5}), range({1, 1}, {4, 4}),
                               range({0, INT64_MAX - 1}, {3, INT64_MAX})}) {
    EXPECT_NE(message_of<ValueError>([&] {
                for_each_index(part, default_stream(), fails, update(array));
              }).find("is not within MemArray<int32, 2> of shape (3, 4)"),
              std::string::npos);
    EXPECT_THROW(for_each_index(
                     part, default_stream(), [](auto const&, auto, int&) {}, write(other), update(array)),
                 ValueError);
    EXPECT_THROW(for_each_index(
                     part, default_stream(), [](auto const& i, auto to) { to[i] = 1; }, overwrite(array)),
                 ValueError);
  }
  EXPECT_EQ(array.get_lock_id(), -1);
  auto const now = fetched(array);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(now[static_cast<std::size_t>(i)], i);
}

TEST_P(RangeTest, SmallerShapeIsStillRefusedForWholeArrays) {
  MemArray<int, 2> array({3, 4});
  place(array);
  EXPECT_NE(message_of<ValueError>([&] {
              for_each_index({2, 2}, default_stream(), [](auto const&, int& e) { e = 1; }, update(array));
            }).find("use range(begin, end) for a part"),
            std::string::npos);
  EXPECT_THROW(for_each_index({2}, default_stream(), [](auto const&, auto) {}, overwrite(array)), ValueError);
}

TEST_P(RangeTest, OneDimensionalKernelsTakeAnInteger) {
  MemArray<std::int64_t, 1> array({20});
  place(array);
  for_each_index(range(2, 18), default_stream(), [](std::int64_t i, std::int64_t& e) { e = i; }, update(array));
  for_each_index({20}, default_stream(), [](std::int32_t i, auto to) { to[{i}] += 100; }, write(array));
  for_each_index(array, default_stream(), [](std::int64_t& e, std::int64_t i) { e += 1000 * i; });
  auto const now = fetched(array);
  for (std::int64_t i = 0; i < 20; ++i)
    EXPECT_EQ(now[static_cast<std::size_t>(i)], 1000 * i + 100 + (i >= 2 && i < 18 ? i : 0));
}

TEST_P(RangeTest, IndicesOf32BitsMustReachTheEndOfTheRange) {
  MemArray<std::int8_t, 1> const array({3});
  auto const narrow = [](std::int32_t, auto) {};
  std::int64_t const far = std::int64_t{1} << 33;
  EXPECT_THROW(for_each_index(range(far, far + 1), default_stream(), narrow, read(array)), OverflowError);
  bool is_wide = false;
  for_each_index(
      range(far, far + 1), default_stream(),
      [&](auto const& i, auto) { is_wide = sizeof(i[0]) == 8 && i[0] == std::int64_t{1} << 33; }, read(array));
  EXPECT_TRUE(is_wide);
}

TEST_P(RangeTest, IndicesBefore32BitsAreWide) {
  MemArray<std::int8_t, 1> const array({3});
  std::int64_t const far = -(std::int64_t{1} << 33);
  auto const narrow = [](std::int32_t, auto) {};
  EXPECT_THROW(for_each_index(range(far, far + 4), default_stream(), narrow, read(array)), OverflowError);
  auto const first = [](auto const& i, auto) { return std::int64_t{i[0]}; };
  EXPECT_EQ(transform_reduce(range(far, far + 4), default_stream(), std::int64_t{0}, minimum{}, first, read(array)),
            far);
  // A range without indices has none that is too far away.
  for_each_index(
      std::array<std::int64_t, 2>{-far, 0}, default_stream(), [](cuda::std::array<int, 2>, auto) {}, read(array));
}

TEST_P(RangeTest, ElementsWithAnIndexOf32BitsAreRefusedBeyond) {
  if (devices) GTEST_SKIP() << "4 GiB of memory";
  MemArray<std::uint8_t, 1> array({(std::int64_t{1} << 31) + 10});
  EXPECT_THROW(for_each_index(array, default_stream(), [](std::uint8_t&, std::int32_t) { FAIL(); }), OverflowError);
}

TEST_P(RangeTest, OneIndexIsAnyIntegerOf32Or64Bits) {
  MemArray<double, 1> array({5});
  place(array);
  for_each_index({5}, default_stream(), [](std::size_t i, double& e) { e = static_cast<double>(i); }, update(array));
  for_each_index({5}, default_stream(), [](unsigned i, double& e) { e += i; }, update(array));
  for_each_index({5}, default_stream(), [](long long i, double& e) { e += static_cast<double>(i); }, update(array));
  for_each_index(array, default_stream(), [](double& e, std::size_t i) { e += static_cast<double>(i); });
  for_each_index(array, default_stream(), []<std::integral I>(double& e, I i) { e += static_cast<double>(i); });
  for_each_index(
      {5}, default_stream(), []<std::integral I>(I i, double& e) { e += static_cast<double>(i); }, update(array));
  EXPECT_EQ(fetched(array), (std::vector<double>{0, 6, 12, 18, 24}));
}

TEST(Range, MoreIndicesThanCanBeCountedAreRefused) {
  using Limits = std::numeric_limits<std::int64_t>;
  auto const all = range(Limits::min(), Limits::max());
  EXPECT_EQ(all.shape()[0], Limits::max());
  EXPECT_EQ(range(Limits::max(), Limits::min()).shape()[0], 0);
  MemArray<int, 1> const array({3});
  auto const one = [](auto const&, auto) { return 1; };
  EXPECT_THROW(static_cast<void>(transform_reduce(all, default_stream(), 0, plus{}, one, read(array))), OverflowError);
}

}  // namespace
}  // namespace memarray::test
