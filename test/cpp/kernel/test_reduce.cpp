#include <memarray/kernel/reduce.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "kernel/places_test.hpp"

namespace memarray::test {
namespace {

class ReduceTest : public PlacesTest {};
INSTANTIATE_TEST_SUITE_P(Places, ReduceTest, ::testing::Values(1, 2, 0), name_of_place);

constexpr auto element = [](auto const& i, auto const& x) { return x[i]; };

template <class T>
void expect_extremes(auto const& place, StreamHandle const& stream) {
  using Limits = std::numeric_limits<T>;
  for (std::int64_t const n : {1, 2, 7, 8, 9, 100, 5000}) {
    MemArray<T, 1> array({n});
    array.fill(1);
    std::int64_t const lowest = (n - 1) / 2;
    array.write({lowest}, Limits::lowest());
    array.write({n - 1}, Limits::max());
    place(array);
    T const least = n == 1 ? Limits::max() : Limits::lowest();
    EXPECT_EQ(min(array, stream), least) << dtype_of<T>().name << " " << n;
    EXPECT_EQ(max(array, stream), Limits::max()) << dtype_of<T>().name << " " << n;
    EXPECT_EQ(minmax(array, stream), std::pair(least, Limits::max()));
    EXPECT_EQ(reduce(array, stream, Limits::max(), minimum{}), least);
    EXPECT_EQ(reduce(array, stream, Limits::lowest(), maximum{}), Limits::max());
    EXPECT_EQ(argmax(array, stream)[0], n - 1);
    EXPECT_EQ(argmin(array, stream)[0], lowest);
  }
}

TEST_P(ReduceTest, ExtremesOfEachTypeAreFound) {
  auto const put = [&](auto& array) { place(array); };
  expect_extremes<std::int8_t>(put, stream);
  expect_extremes<std::int16_t>(put, stream);
  expect_extremes<std::int32_t>(put, stream);
  expect_extremes<std::int64_t>(put, stream);
  expect_extremes<std::uint8_t>(put, stream);
  expect_extremes<std::uint16_t>(put, stream);
  expect_extremes<std::uint32_t>(put, stream);
  expect_extremes<std::uint64_t>(put, stream);
  expect_extremes<float>(put, stream);
  expect_extremes<double>(put, stream);
}

TEST_P(ReduceTest, NaNIsTheExtremeAndItsFirstIndexIsFound) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  double const inf = std::numeric_limits<double>::infinity();
  for (std::int64_t const at : {0, 5, 4999, 9999}) {
    MemArray<double, 2> array({100, 100});
    array.fill(inf);
    array.write({at / 100, at % 100}, nan);
    array.write({99, 99}, nan);
    place(array);
    EXPECT_TRUE(std::isnan(min(array, stream)));
    EXPECT_TRUE(std::isnan(max(array, stream)));
    EXPECT_EQ(argmin(array, stream), (std::array<std::int64_t, 2>{at / 100, at % 100}));
    EXPECT_EQ(argmax(array, stream), (std::array<std::int64_t, 2>{at / 100, at % 100}));
    EXPECT_TRUE(std::isnan(transform_reduce({100, 100}, stream, 0.0, maximum{}, element, read(array))));
  }
  MemArray<double, 1> ends({3});
  ends.write({0}, -0.0);
  ends.write({1}, inf);
  ends.write({2}, -inf);
  place(ends);
  EXPECT_EQ(min(ends, stream), -inf);
  EXPECT_EQ(max(ends, stream), inf);
}

TEST_P(ReduceTest, FirstOfEqualExtremesIsFound) {
  MemArray<int, 3> array({7, 30, 40});
  array.fill(5);
  for (std::int64_t const at : {8399, 4321, 4322}) array.write({at / 1200, at / 40 % 30, at % 40}, 9);
  place(array);
  EXPECT_EQ(argmax(array, stream), (std::array<std::int64_t, 3>{3, 18, 1}));
  EXPECT_EQ(argmin(array, stream), (std::array<std::int64_t, 3>{0, 0, 0}));
}

TEST_P(ReduceTest, ArraysWithoutElementsHaveNoExtremeButAnInitialValue) {
  MemArray<float, 2> array({3, 0});
  place(array);
  EXPECT_NE(message_of<ValueError>([&] { static_cast<void>(min(array, stream)); }).find("without elements"),
            std::string::npos);
  EXPECT_THROW(static_cast<void>(argmax(array, stream)), ValueError);
  EXPECT_EQ(reduce(array, stream, 4.5F, maximum{}), 4.5F);
  EXPECT_EQ(dot(array, array, stream), 0.0F);
  EXPECT_EQ(transform_reduce({3, 0}, stream, 7, plus{}, [](auto const&, auto) { return 1; }, read(array)), 7);
  EXPECT_EQ(array.get_lock_id(), -1);
}

TEST_P(ReduceTest, RangesAndShapesAreReduced) {
  MemArray<std::int64_t, 3> array({20, 30, 40});
  std::int64_t* const elements = array.ptr();
  for (std::int64_t i = 0; i < array.get_size(); ++i) elements[i] = i;
  std::int64_t all = 0;
  std::int64_t inside = 0;
  for (std::int64_t i = 0; i < 20; ++i)
    for (std::int64_t j = 0; j < 30; ++j)
      for (std::int64_t k = 0; k < 40; ++k) {
        all += (i * 30 + j) * 40 + k;
        if (i >= 1 && i < 19 && j >= 1 && j < 29 && k >= 1 && k < 39) inside += (i * 30 + j) * 40 + k;
      }
  place(array);
  EXPECT_EQ(transform_reduce(array.get_shape(), stream, std::int64_t{3}, plus{}, element, read(array)), all + 3);
  EXPECT_EQ(transform_reduce({20, 30, 40}, stream, std::int64_t{0}, plus{}, element, read(array)), all);
  EXPECT_EQ(transform_reduce(interior({20, 30, 40}), stream, std::int64_t{0}, plus{}, element, read(array)), inside);
  EXPECT_EQ(reduce(array, stream, std::int64_t{0}, plus{}), all);
  EXPECT_EQ(sum(array, stream), all);
}

struct Totals {
  double mass;
  double momentum;
  std::int32_t cells;
};
struct AddTotals {
  MEMARRAY_HD Totals operator()(Totals const& a, Totals const& b) const {
    return {a.mass + b.mass, a.momentum + b.momentum, a.cells + b.cells};
  }
};

TEST_P(ReduceTest, StructsAreReducedByAnyFunctor) {
  MemArray<double, 2> density({50, 60});
  MemArray<double, 2> speed({50, 60});
  density.fill(2);
  speed.fill(3);
  place(density);
  place(speed);
  Totals const totals = transform_reduce(
      density.get_shape(), stream, Totals{0, 0, 0}, AddTotals(),
      [](auto const& i, auto const& r, auto const& u) { return Totals{r[i], r[i] * u[i], 1}; }, read(density),
      read(speed));
  EXPECT_EQ(totals.mass, 6000);
  EXPECT_EQ(totals.momentum, 18000);
  EXPECT_EQ(totals.cells, 3000);
}

TEST_P(ReduceTest, KernelsMayChangeArraysWhileTheyReduce) {
  MemArray<double, 1> array({10'000});
  array.fill(1);
  place(array);
  ConstBufferView const kept = array.view();
  double const total = transform_reduce(
      {10'000}, stream, 0.0, plus{},
      [](auto const&, double& e) {
        e += 1;
        return e;
      },
      update(array));
  EXPECT_EQ(total, 20'000);
  EXPECT_EQ(sum(array, stream), 20'000);
  EXPECT_EQ(*reinterpret_cast<double const*>(kept.to_device(Device{}).core().data()), 1);
}

TEST_P(ReduceTest, KernelsMayChangePartOfAnArrayWhileTheyReduce) {
  for (launch const& on : {launch{stream}, launch{stream, 2, 7}}) {
    MemArray<std::int16_t, 2> array({60, 70});
    array.fill(-1);
    place(array);
    ConstBufferView const kept = array.view();
    int const total = transform_reduce(
        interior({60, 70}), on, -1, maximum{},
        [](auto const& i, std::int16_t& e) {
          e = static_cast<std::int16_t>(e + i[0] * 100 + i[1]);
          return static_cast<int>(e);
        },
        update(array));
    EXPECT_EQ(total, 58 * 100 + 68 - 1);
    auto const now = fetched(array);
    for (std::size_t row = 0; row < 60; ++row)
      for (std::size_t column = 0; column < 70; ++column) {
        bool const is_inside = row % 59 != 0 && column % 69 != 0;
        ASSERT_EQ(now[row * 70 + column], is_inside ? static_cast<int>(row * 100 + column) - 1 : -1)
            << row << ' ' << column;
      }
    EXPECT_EQ(*reinterpret_cast<std::int16_t const*>(kept.to_device(Device{}).core().data()), -1);
  }
}

TEST_P(ReduceTest, ValueIsLeftInAnArrayOfOneElement) {
  MemArray<double, 2> array({60, 70});
  MemArray<double, 1> result({1});
  MemArray<double, 1> larger({2});
  array.fill(2);
  result.fill(-1);
  for (auto* const each : {&result, &larger}) place(*each);
  place(array);
  ConstBufferView const kept = result.view();
  transform_reduce_into(result, array.get_shape(), stream, 1, plus{}, element, read(array));
  EXPECT_EQ(copies(), devices ? 3 : 0) << "the moves";
  EXPECT_EQ(*reinterpret_cast<double const*>(kept.to_device(Device{}).core().data()), -1);
  // The next kernel uses it without a wait of the host.
  for_each_index(
      array.get_shape(), stream, [](auto const&, double& e, auto const& total) { e = total.get(0)[0]; }, update(array),
      read(result));
  EXPECT_EQ(sum(array, stream), 60 * 70 * 8401.0);
  transform_reduce_into(result, interior({60, 70}), stream, 0, maximum{}, element, read(array));
  EXPECT_EQ(sum(result, stream), 8401);
  EXPECT_THROW(transform_reduce_into(larger, {60, 70}, stream, 0, plus{}, element, read(array)), ValueError);
  EXPECT_THROW(transform_reduce_into(result, {1}, stream, 0, plus{}, element, read(result)), LockError);
  EXPECT_EQ(result.get_lock_id(), -1);
}

TEST_P(ReduceTest, LogicalOperationsReduceConditions) {
  MemArray<float, 1> array({5000});
  array.fill(1);
  place(array);
  auto const positive = [](auto const& i, auto const& x) { return x[i] > 0; };
  EXPECT_TRUE(transform_reduce({5000}, stream, true, logical_and{}, positive, read(array)));
  array.write({4567}, -1);
  EXPECT_FALSE(transform_reduce({5000}, stream, true, logical_and{}, positive, read(array)));
  EXPECT_TRUE(transform_reduce(
      {5000}, stream, false, logical_or{}, [](auto const& i, auto const& x) { return x[i] < 0; }, read(array)));
}

TEST_P(ReduceTest, DotMultipliesAndRefusesOtherShapes) {
  MemArray<std::int32_t, 2> a({30, 40});
  MemArray<std::int32_t, 2> b({30, 40});
  MemArray<std::int32_t, 2> other({40, 30});
  count_up(a);
  b.fill(3);
  std::int32_t expected = 0;
  for (int i = 0; i < 1200; ++i) expected += 3 * (i % 100);
  place(a);
  place(b);
  place(other);
  EXPECT_EQ(dot(a, b, stream), expected);
  EXPECT_EQ(dot(b, b, stream), 9 * 1200);
  EXPECT_NE(message_of<ValueError>([&] { static_cast<void>(dot(a, other, stream)); }).find("arrays of one shape"),
            std::string::npos);
}

TEST_P(ReduceTest, IntegersWrap) {
  MemArray<std::int32_t, 1> array({20});
  array.fill(std::numeric_limits<std::int32_t>::max());
  place(array);
  EXPECT_EQ(reduce(array, stream, 0, plus{}), -20);
  EXPECT_EQ(dot(array, array, stream), 20);
  // Products of 16-bit integers are `int`, and these are too large for it.
  MemArray<std::uint16_t, 1> small({3});
  small.fill(std::numeric_limits<std::uint16_t>::max());
  place(small);
  EXPECT_EQ(dot(small, small, stream), 3);
}

TEST_P(ReduceTest, WritersAndOtherReadersAreLockedOut) {
  MemArray<double, 1> array({100});
  MemArray<double, 1> other({100});
  place(array);
  place(other);
  {
    WriteLease<double, 1> const lease(array);
    EXPECT_THROW(static_cast<void>(min(array, stream)), LockError);
    EXPECT_THROW(static_cast<void>(dot(other, array, stream)), LockError);
    EXPECT_EQ(transform_reduce({100}, stream, 0.0, plus{}, element, read(array, lease.lock_id())), 0);
    std::int64_t const id = lease.lock_id();
    EXPECT_EQ(reduce(array, stream, 1.0, plus{}, id) + min(array, stream, id) + max(array, stream, id), 1);
    EXPECT_EQ(minmax(array, stream, id).second, 0);
    EXPECT_EQ(argmin(array, stream, id)[0] + argmax(array, stream, id)[0], 0);
    EXPECT_EQ(dot(other, array, stream, -1, id), 0);
  }
  ReadLease<double, 1> const lease(array);
  EXPECT_EQ(dot(array, array, stream), 0);
  EXPECT_THROW(static_cast<void>(transform_reduce(
                   {100}, stream, 0.0, plus{}, [](auto const&, double& e) { return e; }, update(array))),
               LockError);
  EXPECT_THROW(static_cast<void>(min(other, StreamHandle())), ValueError);
}

TEST_P(ReduceTest, ThrowingFunctorsReleaseTheLocks) {
  MemArray<double, 1> array({100'000});
  if (devices) return;  // a kernel that throws ends a context
  EXPECT_THROW(static_cast<void>(transform_reduce(
                   {100'000}, stream, 0.0, plus{},
                   [](auto const& i, auto const& x) {
                     if (i[0] == 77'777) throw 1;
                     return x[i];
                   },
                   read(array))),
               int);
  array.fill(1);
  EXPECT_EQ(sum(array, stream), 100'000);
}

}  // namespace
}  // namespace memarray::test
