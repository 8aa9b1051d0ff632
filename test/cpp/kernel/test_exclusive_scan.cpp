#include <memarray/kernel/exclusive_scan.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

class ExclusiveScanTest : public ArrayTest {};

template <class T>
void scans() {
  MemArray<T, 2> array({3, 5});
  MemArray<T, 2> sums({3, 5});
  count_up(array);
  T const total = exclusive_scan(array, sums, default_stream());
  T running{};
  for (std::int64_t i = 0; i < 15; ++i) {
    ASSERT_EQ(*std::as_const(sums).get_indexer().get(i), running) << dtype_of<T>().name << i;
    running = static_cast<T>(running + *std::as_const(array).get_indexer().get(i));
  }
  EXPECT_EQ(total, running) << dtype_of<T>().name;
}

TEST_F(ExclusiveScanTest, ScansEachDtypeInLinearOrder) {
#define MEMARRAY_TEST_SCAN(type, name, code, bits) scans<type>();
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_TEST_SCAN)
#undef MEMARRAY_TEST_SCAN
}

TEST_F(ExclusiveScanTest, CrossesPiecesAndThreads) {
  std::int64_t const n = 3 * detail::sum_piece + 17;
  MemArray<std::int64_t, 1> array({n});
  MemArray<std::int64_t, 1> sums({n});
  for_each_index(array, default_stream(), [](std::int64_t& e, auto const& i) { e = i[0]; });
  for (int const threads : {1, 2}) {
    int const before = options().threads.exchange(threads);
    sums.fill(-1);
    EXPECT_EQ(exclusive_scan(array, sums, default_stream()), n * (n - 1) / 2);
    for (std::int64_t i = 0; i < n; i += 1009) ASSERT_EQ(sums({i}), i * (i - 1) / 2);
    options().threads = before;
  }
}

TEST_F(ExclusiveScanTest, IntegersWrap) {
  MemArray<std::int32_t, 1> array({3});
  MemArray<std::int32_t, 1> sums({3});
  array.fill(std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(exclusive_scan(array, sums, default_stream()), std::numeric_limits<std::int32_t>::max() - 2);
  EXPECT_EQ(sums({2}), -2);
}

TEST_F(ExclusiveScanTest, InvalidArgumentsAndLockedArraysAreRefused) {
  MemArray<double, 1> array({4});
  MemArray<double, 1> other({5});
  MemArray<double, 1> sums({4});
  sums.fill(7);
  EXPECT_THROW(static_cast<void>(exclusive_scan(array, other, default_stream())), ValueError);
  EXPECT_THROW(static_cast<void>(exclusive_scan(array, array, default_stream())), LockError);
  EXPECT_THROW(static_cast<void>(exclusive_scan(array, sums, StreamHandle())), ValueError);
  ReadLease const lease(sums);
  EXPECT_THROW(static_cast<void>(exclusive_scan(array, sums, default_stream())), LockError);
  EXPECT_EQ(sums({3}), 7);
}

TEST_F(ExclusiveScanTest, ScanOfAnEmptyArrayIsZero) {
  MemArray<float, 1> const array({0});
  MemArray<float, 1> sums({0});
  EXPECT_EQ(exclusive_scan(array, sums, default_stream()), 0);
}

}  // namespace
}  // namespace memarray::test
