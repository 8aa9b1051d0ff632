#include "strided/reading_order.hpp"
#include "strided/simd_level.hpp"

#include <memarray/array/mem_array.hpp>
#include <memarray/view/buffer_view.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace memarray::detail {
namespace {

using Way = ReadingOrder::Way;
using std::chrono::nanoseconds;

constexpr std::size_t job = ReadingOrder::large;
constexpr std::size_t piece = std::size_t{1} << 20;

/// Returns the order chosen after trials of both. Pieces take `at_once` or `in_order`; every fifth also waits for the
/// processor.
Way decided(nanoseconds at_once, nanoseconds in_order) {
  ReadingOrder order;
  for (int trial = 0; trial < ReadingOrder::trials; ++trial) {
    Way const way = order.next(job);
    EXPECT_EQ(way, trial / ReadingOrder::turn % 2 == 0 ? Way::side_by_side : Way::in_order) << "by turns";
    nanoseconds const waited(trial % 5 == 0 ? 5'000'000 : 0);
    order.took(way, piece, (way == Way::in_order ? in_order : at_once) + waited);
  }
  EXPECT_EQ(order.next(1), order.next(job));
  return order.next(job);
}

TEST(ReadingOrder, FasterOrderIsChosen) {
  EXPECT_EQ(decided(nanoseconds(90'000), nanoseconds(40'000)), Way::in_order);
  EXPECT_EQ(decided(nanoseconds(40'000), nanoseconds(90'000)), Way::side_by_side);
  EXPECT_EQ(decided(nanoseconds(40'000), nanoseconds(40'000)), Way::side_by_side);
}

TEST(ReadingOrder, SmallDifferenceKeepsTheDefault) {
  EXPECT_EQ(decided(nanoseconds(40'000), nanoseconds(35'000)), Way::side_by_side);
  EXPECT_EQ(decided(nanoseconds(40'000), nanoseconds(32'000)), Way::in_order);
}

TEST(ReadingOrder, OutliersFromCachedPiecesAreIgnored) {
  ReadingOrder order;
  for (int trial = 0; trial < ReadingOrder::trials; ++trial) {
    Way const way = order.next(job);
    bool const lucky = way == Way::in_order && trial % 3 == 0;
    order.took(way, piece, nanoseconds(lucky ? 10'000 : way == Way::in_order ? 60'000 : 40'000));
  }
  EXPECT_EQ(order.next(job), Way::side_by_side);
}

TEST(ReadingOrder, TrialsOfOnlyOneOrderKeepTheDefault) {
  for (Way const way : {Way::side_by_side, Way::in_order}) {
    ReadingOrder order;
    for (int trial = 0; trial < ReadingOrder::trials; ++trial) order.took(way, piece, nanoseconds(40'000));
    EXPECT_EQ(order.next(job), Way::side_by_side) << "there is nothing to compare with";
  }
}

TEST(ReadingOrder, SmallJobsAreNotTrials) {
  ReadingOrder order;
  int pieces = 0;
  for (int i = 0; i < 4 * ReadingOrder::trials; ++i) {
    EXPECT_EQ(order.next(job - 1), Way::side_by_side);
    order.run(piece, job - 1, [&](Way way) { pieces += way == Way::side_by_side; });
    order.run(ReadingOrder::least - 1, job, [&](Way) { ++pieces; });
  }
  EXPECT_EQ(pieces, 8 * ReadingOrder::trials);
  EXPECT_EQ(order.next(job), Way::side_by_side) << "the first trial is still to come";
  for (int i = 0; i < ReadingOrder::turn; ++i) order.took(Way::side_by_side, piece, nanoseconds(1));
  EXPECT_EQ(order.next(job), Way::in_order);
}

TEST(ReadingOrder, TrialsEndAfterAFixedNumber) {
  ReadingOrder order;
  int in_order = 0;
  for (int i = 0; i < ReadingOrder::trials; ++i)
    order.run(piece, job, [&](Way way) { in_order += way == Way::in_order; });
  EXPECT_EQ(in_order, ReadingOrder::trials / 2);
  Way const chosen = order.next(job);
  for (int i = 0; i < 4; ++i) order.run(piece, job, [&](Way way) { EXPECT_EQ(way, chosen); });
}

TEST(ReadingOrder, RunsAndRowsAreChosenIndependently) {
  ReadingOrder::of_runs().choose(Way::in_order);
  ReadingOrder::of_rows().choose(Way::side_by_side);
  EXPECT_EQ(ReadingOrder::of_runs().next(job), Way::in_order);
  EXPECT_EQ(ReadingOrder::of_rows().next(job), Way::side_by_side);
  ReadingOrder::of_runs().choose(Way::side_by_side);
}

std::string bytes_of(BufferView const& view) {
  BufferView const dense = view.copy();
  auto const size = static_cast<std::size_t>(dense.size()) * dense.dtype().itemsize;
  return {reinterpret_cast<char const*>(dense.core().data()), size};
}

std::vector<std::string> results(ConstBufferView const& view, Way way) {
  ReadingOrder::of_runs().choose(way);
  ReadingOrder::of_rows().choose(way);
  std::vector<std::string> all;
  for (SimdLevel const widest : {SimdLevel::baseline, SimdLevel::avx512}) {
    SimdLevel const before = limit_simd_level(widest);
    all.push_back(bytes_of(view.sum()));
    all.push_back(bytes_of(view.min()));
    for (int axis = 0; axis < view.ndim(); ++axis) {
      all.push_back(bytes_of(view.sum({&axis, 1})));
      all.push_back(bytes_of(view.max({&axis, 1})));
    }
    limit_simd_level(before);
  }
  ReadingOrder::of_runs().choose(Way::side_by_side);
  ReadingOrder::of_rows().choose(Way::side_by_side);
  return all;
}

template <class T>
class ReadingOrderTypedTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::int32_t, std::int64_t, std::uint8_t>;
TYPED_TEST_SUITE(ReadingOrderTypedTest, Types);

TYPED_TEST(ReadingOrderTypedTest, ResultsAreBitwiseEqualInBothOrders) {
  using T = TypeParam;
  MemArray<T, 1> array({std::int64_t{96} * 130 * 64});
  std::mt19937 random(7);
  for (std::int64_t i = 0; i < array.get_size(); ++i) {
    if constexpr (std::is_floating_point_v<T>)
      array.ptr()[i] = static_cast<T>(std::ldexp(random() / 7.0, -static_cast<int>(random() % 30)));
    else
      array.ptr()[i] = static_cast<T>(random());
  }
  ConstBufferView const dense = array.view();
  auto const shaped = [&](std::vector<std::int64_t> const& shape) { return dense.reshape(shape); };
  ConstBufferView const plane = shaped({std::int64_t{96} * 130, 64});
  ConstBufferView const wide = shaped({12, std::int64_t{8} * 130 * 64});
  ConstBufferView const cube = shaped({96, 130, 64});
  // Short runs of pages, far apart.
  ConstBufferView const pages = shaped({96, std::int64_t{130} * 64});
  std::pair<char const*, ConstBufferView> const views[] = {
      {"dense", dense},
      {"reversed", dense.slice(0, {.step = -1})},
      {"every second", dense.slice(0, {.step = 2})},
      {"rows", plane},
      {"long rows", wide},
      {"rows with small gaps", plane.slice(1, {.start = 1, .stop = 62})},
      {"rows of some pages", pages.slice(1, {.start = 100, .stop = 2500})},
      {"rows with large gaps", wide.slice(1, {.start = 100, .stop = 30'000})},
      {"inside of a cube", cube.slice(0, {.start = 1, .stop = -1}).slice(1, {.start = 1}).slice(2, {.stop = -1})},
      {"a column", plane.select(1, 5)},
      {"a column of short rows", shaped({-1, 16}).select(1, 3)},
      {"some columns", plane.slice(1, {.start = 4, .stop = 8})},
  };
  for (auto const& [name, view] : views)
    EXPECT_EQ(results(view, Way::side_by_side), results(view, Way::in_order)) << name;
}

}  // namespace
}  // namespace memarray::detail
