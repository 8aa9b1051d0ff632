#include <memarray/thrust.hpp>

#include <gtest/gtest.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "array_test.hpp"

namespace memarray::test {
namespace {

using Array = MemArray<double, 2>;

double total(Array const& array, std::int64_t lock_id = -1) {
  auto const [first, last] = thrust_range(array, lock_id);
  return thrust::reduce(thrust::host, first, last, 0.0);
}
void negate(Array& array, std::int64_t lock_id = -1) {
  auto const [first, last] = thrust_range(array, lock_id);
  thrust::transform(thrust::host, first, last, first, [](double x) { return -x; });
}

class ThrustTest : public ArrayTest {
 protected:
  ThrustTest() { fresh(); }
  void fresh(EscapedViews policy = EscapedViews::snapshot) {
    array = Array({8, 5}, 0, {.escaped_views = policy});
    count_up(array);
    before = contents(array);
    negated = before;
    for (double& element : negated) element = -element;
  }

  Array array{{8, 5}};
  std::vector<double> before;
  std::vector<double> negated;
};

TEST_F(ThrustTest, RangeCoversArrayInLinearOrder) {
  auto const [first, last] = thrust_range(std::as_const(array));
  EXPECT_EQ(reinterpret_cast<std::byte const*>(first), memory_of(array));
  EXPECT_EQ(std::vector<double>(first, last), before);
  Array empty({0, 3});
  auto const [begin, end] = thrust_range(empty);
  EXPECT_EQ(begin, end);
  static_assert(std::is_same_v<decltype(thrust_range(array)), std::pair<double*, double*>>);
  static_assert(std::is_same_v<decltype(thrust_range(std::as_const(array))), std::pair<double const*, double const*>>);
}

TEST_F(ThrustTest, AlgorithmsReadAndWriteThroughRange) {
  EXPECT_EQ(total(array), std::accumulate(before.begin(), before.end(), 0.0));
  negate(array);
  EXPECT_EQ(contents(array), negated);
  auto const [first, last] = thrust_range(array);
  thrust::sort(thrust::host, first, last);
  std::sort(negated.begin(), negated.end());
  EXPECT_EQ(contents(array), negated);
  EXPECT_EQ(array({0, 0}), -39);
  EXPECT_EQ(copies(), 0);
}

TEST_F(ThrustTest, ConstRangePassesAndMutableRangeIsRefusedUnderReadLease) {
  ReadLease<double, 2> lease(array);
  EXPECT_EQ(total(array), 39 * 40 / 2);
  auto const words = message_of<LockError>([&] { negate(array); });
  EXPECT_NE(words.find("leased for reading"), std::string::npos) << words;
  EXPECT_EQ(contents(array), before);
  lease.close();
  EXPECT_NO_THROW(negate(array));
}

TEST_F(ThrustTest, LockIdIsRequiredUnderWriteLease) {
  {
    WriteLease<double, 2> const lease(array);
    for (std::int64_t const id : {std::int64_t{-1}, lease.lock_id() + 1, std::int64_t{5}}) {
      EXPECT_THROW(total(array, id), LockError);
      EXPECT_THROW(negate(array, id), LockError);
    }
    EXPECT_EQ(contents(array), before);
    EXPECT_EQ(total(array, lease.lock_id()), 39 * 40 / 2);
    negate(array, lease.lock_id());
  }
  EXPECT_EQ(contents(array), negated);
  array.enter(5);
  EXPECT_THROW(total(array), LockError);
  negate(array, 5);
  array.exit();
  EXPECT_EQ(contents(array), before);
  EXPECT_THROW(total(array, 5), LockError) << "no hold has that id any more";
}

TEST_F(ThrustTest, EscapedViewsKeepContentsUnderThrustWrites) {
  View<double> const view = escaped_read_only(array);
  std::byte const* const memory = memory_of(array);
  EXPECT_EQ(total(array), 39 * 40 / 2);
  EXPECT_EQ(memory_of(array), memory) << "looking under a read-only view changes nothing";
  negate(array);
  EXPECT_EQ(view.copy(), before);
  EXPECT_EQ(contents(array), negated);
  EXPECT_EQ(copies(), 1);
  View<double> const writable = escaped_writable(array);
  writable.data()[0] = 77;
  EXPECT_EQ(*thrust_range(std::as_const(array)).first, 77);
  writable.data()[0] = 88;
  EXPECT_EQ(array({0, 0}), 77) << "looking leaves a writable view behind";
}

TEST_F(ThrustTest, PolicyErrorRefusesAndPolicyAliasShares) {
  fresh(EscapedViews::error);
  {
    View<double> const view = escaped_read_only(array);
    EXPECT_EQ(total(array), 39 * 40 / 2);
    EXPECT_THROW(negate(array), LockError);
    EXPECT_EQ(contents(array), before);
  }
  EXPECT_NO_THROW(negate(array));
  {
    View<double> const view = escaped_writable(array);
    EXPECT_THROW(total(array), LockError);
  }
  fresh(EscapedViews::alias);
  View<double> const view = escaped_read_only(array);
  negate(array);
  EXPECT_EQ(view.copy(), negated);
  EXPECT_EQ(copies(), 0);
}

TEST_F(ThrustTest, MovedFromArrayHasNoRange) {
  Array const moved = std::move(array);
  EXPECT_THROW(static_cast<void>(thrust_range(array)), Error);
  EXPECT_THROW(static_cast<void>(thrust_range(std::as_const(array))), Error);
  EXPECT_EQ(total(moved), 39 * 40 / 2);
}

}  // namespace
}  // namespace memarray::test
