#include <memarray/kernel/scan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>  // whose scans unqualified calls find, too
#include <set>
#include <thread>
#include <vector>

#include "kernel/places_test.hpp"

namespace memarray::test {
namespace {

class ScanTest : public ArrayTest {};

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

TEST_F(ScanTest, ScansEachDtypeInLinearOrder) {
#define MEMARRAY_TEST_SCAN(type, name, code, bits) scans<type>();
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_TEST_SCAN)
#undef MEMARRAY_TEST_SCAN
}

TEST_F(ScanTest, CrossesPiecesAndThreads) {
  std::int64_t const n = 3 * detail::scan_piece + 17;
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

TEST_F(ScanTest, UnqualifiedCallsAreNotThoseOfStd) {
  MemArray<double, 1> array({4});
  MemArray<double, 1> result({4});
  StreamHandle const stream = default_stream();
  array.fill(2);
  inclusive_scan(array, result, stream);
  EXPECT_EQ(result({3}), 8);
  inclusive_scan(array, result, default_stream(), maximum{});
  EXPECT_EQ(result({3}), 2);
  inclusive_scan(array, result, launch{.threads = 1});
  EXPECT_EQ(exclusive_scan(array, result, stream), 8);
  EXPECT_EQ(exclusive_scan(array, result, stream, 1), 9);
  EXPECT_EQ(exclusive_scan(array, result, stream, 5.0, maximum{}), 5);
  EXPECT_EQ(exclusive_scan(array, result, launch{.threads = 1}, 1.0), 9);
  // Elements and operations of `std`.
  inclusive_scan(array, result, launch{}, std::plus<>{});
  EXPECT_EQ(result({3}), 8);
  EXPECT_EQ(exclusive_scan(array, result, launch{.threads = 1}, 1, std::plus<double>{}), 9);
  MemArray<std::complex<double>, 1> numbers({2});
  MemArray<std::complex<double>, 1> sums({2});
  numbers.fill({1, 2});
  inclusive_scan(numbers, sums, launch{.threads = 1});
  EXPECT_EQ(sums({1}), std::complex<double>(2, 4));
  EXPECT_EQ(exclusive_scan(numbers, sums, launch{}), std::complex<double>(2, 4));
  EXPECT_EQ(exclusive_scan(numbers, sums, launch{}, std::complex<double>(1), plus{}), std::complex<double>(3, 4));
  inclusive_scan(numbers, sums, stream, std::multiplies<>{});
  EXPECT_EQ(sums({1}), std::complex<double>(-3, 4));
  EXPECT_EQ(result({3}), 7);
}

TEST_F(ScanTest, IntegersWrap) {
  MemArray<std::int32_t, 1> array({3});
  MemArray<std::int32_t, 1> sums({3});
  array.fill(std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(exclusive_scan(array, sums, default_stream()), std::numeric_limits<std::int32_t>::max() - 2);
  EXPECT_EQ(sums({2}), -2);
}

TEST_F(ScanTest, InvalidArgumentsAndLockedArraysAreRefused) {
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

TEST_F(ScanTest, ScanOfAnEmptyArrayIsZero) {
  MemArray<float, 1> const array({0});
  MemArray<float, 1> sums({0});
  EXPECT_EQ(exclusive_scan(array, sums, default_stream()), 0);
}

class ScanPlacesTest : public PlacesTest {};
INSTANTIATE_TEST_SUITE_P(Places, ScanPlacesTest, ::testing::Values(1, 2, 0), name_of_place);

TEST_P(ScanPlacesTest, OperationsAndTypesAreTheUsers) {
  std::int64_t const n = 2 * detail::scan_piece + 3;
  MemArray<std::uint8_t, 1> counts({n});
  MemArray<std::int64_t, 1> ends({n});
  MemArray<std::int64_t, 1> begins({n});
  MemArray<std::uint8_t, 1> largest({n});
  std::vector<std::uint8_t> source;
  for (std::int64_t i = 0; i < n; ++i) {
    source.push_back(static_cast<std::uint8_t>(i * 7919 % 251));
    counts.ptr()[i] = source.back();
  }
  place(counts);
  place(ends);
  place(begins);
  place(largest);
  inclusive_scan(counts, ends, stream);
  std::int64_t const total = exclusive_scan(counts, begins, stream, 5, plus{});
  inclusive_scan(counts, largest, stream, maximum{});
  auto const found_ends = fetched(ends);
  auto const found_begins = fetched(begins);
  auto const found_largest = fetched(largest);
  std::int64_t sum = 0;
  std::uint8_t most = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    ASSERT_EQ(found_begins[i], 5 + sum) << i;
    sum += source[i];
    most = std::max(most, source[i]);
    ASSERT_EQ(found_ends[i], sum) << i;
    ASSERT_EQ(found_largest[i], most) << i;
  }
  EXPECT_EQ(total, 5 + sum);
}

TEST_F(ScanTest, OperationsThatDoNotCommuteKeepTheOrder) {
  std::int64_t const n = 3 * detail::scan_piece + 100;
  MemArray<double, 1> digits({n});
  MemArray<double, 1> found({n});
  for (std::int64_t i = 0; i < n; ++i) digits.ptr()[i] = static_cast<double>(i % 9 + 1);
  // Associative and not commutative: the last operand.
  auto const last = [](double, double right) { return right; };
  for (int const threads : {1, 2}) {
    int const before = options().threads.exchange(threads);
    inclusive_scan(digits, found, default_stream(), last);
    for (std::int64_t i = 0; i < n; i += 13) ASSERT_EQ(found({i}), digits({i}));
    EXPECT_EQ(exclusive_scan(digits, found, default_stream(), -1, last), digits({n - 1}));
    EXPECT_EQ(found({0}), -1);
    EXPECT_EQ(found({detail::scan_piece}), digits({detail::scan_piece - 1}));
    for (std::int64_t i = 1; i < n; i += 13) ASSERT_EQ(found({i}), digits({i - 1}));
    options().threads = before;
  }
}

TEST_F(ScanTest, FloatingPointResultsDoNotDependOnThreads) {
  std::int64_t const n = 5 * detail::scan_piece + 11;
  MemArray<float, 1> array({n});
  MemArray<float, 1> first({n});
  MemArray<float, 1> second({n});
  for (std::int64_t i = 0; i < n; ++i) array.ptr()[i] = static_cast<float>(i % 1000) / 7 - 3;
  float totals[2];
  int const before = options().threads.exchange(1);
  totals[0] = exclusive_scan(array, first, default_stream());
  options().threads = 3;
  totals[1] = exclusive_scan(array, second, default_stream());
  EXPECT_EQ(contents(first), contents(second));
  EXPECT_EQ(totals[0], totals[1]);
  inclusive_scan(array, second, default_stream());
  options().threads = 1;
  inclusive_scan(array, first, default_stream());
  options().threads = before;
  EXPECT_EQ(contents(first), contents(second));
}

TEST_F(ScanTest, AnEmptyArrayGivesTheInitialValue) {
  MemArray<float, 1> const array({0});
  MemArray<float, 1> sums({0});
  EXPECT_EQ(exclusive_scan(array, sums, default_stream(), 3, plus{}), 3);
  inclusive_scan(array, sums, default_stream());
}

/// An operation that computes in memory of its own.
struct Scratch {
  std::int64_t own[2]{};
  std::int64_t operator()(std::int64_t left, std::int64_t right) {
    own[0] = left;
    own[1] = right;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return own[0] + own[1];
  }
};

TEST_F(ScanTest, EachThreadHasAnOperationOfItsOwn) {
  int const before = options().threads.exchange(4);
  std::int64_t const n = 1 << 21;
  MemArray<std::int64_t, 1> ones({n});
  MemArray<std::int64_t, 1> sums({n});
  ones.fill(1);
  for (int round = 0; round < 3; ++round) {
    inclusive_scan(ones, sums, default_stream(), Scratch{});
    EXPECT_EQ(sums({n - 1}), n);
  }
  options().threads = before;
}

TEST_F(ScanTest, LaunchSettingsAreThoseOfEveryLaunch) {
  int const before = options().threads.exchange(4);
  std::int64_t const n = 1 << 21;
  MemArray<double, 1> array({n});
  MemArray<double, 1> sums({n});
  std::mutex mutex;
  std::set<std::thread::id> seen;
  auto const noted = [&](double left, double right) {
    if (left == 0 && right == 0) return 0.0;
    std::lock_guard const guard(mutex);
    seen.insert(std::this_thread::get_id());
    return left + right;
  };
  for (std::int64_t i = 0; i < n; i += 1000) array.write({i}, 1);
  inclusive_scan(array, sums, launch{.threads = 1}, noted);
  EXPECT_EQ(seen, std::set{std::this_thread::get_id()});
  seen.clear();
  constexpr auto whole = std::numeric_limits<std::int64_t>::max();
  inclusive_scan(array, sums, launch{.threads = 4, .grain = whole}, noted);
  EXPECT_EQ(seen, std::set{std::this_thread::get_id()});
  EXPECT_THROW(inclusive_scan(array, sums, launch{.threads = -1}), ValueError);
  EXPECT_THROW(static_cast<void>(exclusive_scan(array, sums, launch{.grain = -1})), ValueError);
  options().threads = before;
}

TEST_F(ScanTest, SumsBeginWithAnInitialValue) {
  MemArray<std::int32_t, 1> array({3});
  MemArray<std::int32_t, 1> sums({3});
  array.fill(2);
  EXPECT_EQ(exclusive_scan(array, sums, default_stream(), 5), 11);
  EXPECT_EQ(sums({0}), 5);
}

}  // namespace
}  // namespace memarray::test
