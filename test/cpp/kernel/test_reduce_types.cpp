// Types of initial values, elements and results of operations that differ.

#include <memarray/kernel/reduce.hpp>
#include <memarray/kernel/scan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernel/places_test.hpp"

namespace memarray::test {
namespace {

class ReduceTypesTest : public PlacesTest {};
INSTANTIATE_TEST_SUITE_P(Places, ReduceTypesTest, ::testing::Values(1, 2, 0), name_of_place);

template <class T, class Init>
void largest_of_extremes(Init init) {
  MemArray<T, 1> array({2});
  array.fill(std::numeric_limits<T>::max());
  EXPECT_EQ(reduce(array, default_stream(), init, maximum{}), std::numeric_limits<T>::max()) << dtype_of<T>().name;
}

TEST_P(ReduceTypesTest, IntegersAreNotNarrowedToTheTypeOfALiteral) {
  largest_of_extremes<std::int64_t>(0);
  largest_of_extremes<std::uint64_t>(0);
  largest_of_extremes<std::uint64_t>(std::int64_t{0});
  largest_of_extremes<std::uint32_t>(0);
  largest_of_extremes<std::int16_t>(std::int8_t{0});
  MemArray<std::int64_t, 1> array({3});
  array.fill(std::numeric_limits<std::int64_t>::min());
  place(array);
  EXPECT_EQ(reduce(array, stream, 0, minimum{}), std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE((std::is_same_v<decltype(reduce(array, stream, 0, plus{})), std::int64_t>));
  EXPECT_TRUE((std::is_same_v<decltype(reduce(array, stream, 0.0, plus{})), double>));
  EXPECT_TRUE(reduce(array, stream, false, logical_or{}));
  MemArray<std::int8_t, 1> bytes({3});
  bytes.fill(-128);
  place(bytes);
  EXPECT_TRUE((std::is_same_v<decltype(reduce(bytes, stream, 0, plus{})), int>));
  EXPECT_EQ(reduce(bytes, stream, 0, plus{}), -384);
}

template <class T, class Init>
void initial_value_is_refused(Init init) {
  MemArray<T, 1> array({2});
  array.fill(7);
  EXPECT_THROW(static_cast<void>(reduce(array, default_stream(), init, maximum{})), ValueError) << dtype_of<T>().name;
  array.fill(8);  // unlocked
}

TEST_P(ReduceTypesTest, NegativeInitialValuesOfUnsignedResultsAreRefused) {
  initial_value_is_refused<std::uint32_t>(-1);
  initial_value_is_refused<std::uint64_t>(-1);
  initial_value_is_refused<std::uint64_t>(std::numeric_limits<std::int64_t>::min());
  MemArray<std::uint8_t, 1> bytes({2});
  bytes.fill(7);
  MemArray<std::uint32_t, 1> words({2});
  words.fill(7);
  place(bytes);
  place(words);
  EXPECT_EQ(reduce(bytes, stream, -1, minimum{}), -1);
  EXPECT_EQ(reduce(words, stream, std::int64_t{-1}, minimum{}), -1);
  EXPECT_EQ(reduce(words, stream, -1.0, minimum{}), -1);
}

TEST_P(ReduceTypesTest, InitialValuesThatTheElementsOfAScanDoNotHaveAreRefused) {
  MemArray<std::int8_t, 1> bytes({3});
  MemArray<std::int8_t, 1> sums({3});
  EXPECT_THROW(static_cast<void>(exclusive_scan(bytes, sums, default_stream(), 128)), ValueError);
  EXPECT_THROW(static_cast<void>(exclusive_scan(bytes, sums, default_stream(), 255U)), ValueError);
  EXPECT_EQ(exclusive_scan(bytes, sums, default_stream(), -128), -128);
  MemArray<std::uint64_t, 1> words({3});
  MemArray<std::uint64_t, 1> totals({3});
  EXPECT_THROW(static_cast<void>(exclusive_scan(words, totals, default_stream(), -1, maximum{})), ValueError);
  EXPECT_EQ(exclusive_scan(words, totals, default_stream(), ~std::uint64_t{0}), ~std::uint64_t{0});
  // Elements and result of two types, and settings in a variable of the parameter's type.
  EXPECT_THROW(static_cast<void>(exclusive_scan(bytes, totals, default_stream(), -1)), ValueError);
  EXPECT_THROW(static_cast<void>(exclusive_scan(bytes, sums, StreamOrLaunch(launch{}), 128)), ValueError);
  EXPECT_EQ(exclusive_scan(bytes, totals, default_stream(), {}), 0U);
}

TEST_P(ReduceTypesTest, ResultsOfOperationsAreConvertedToTheValue) {
  MemArray<std::int8_t, 1> bytes({5000});
  count_up(bytes);
  place(bytes);
  EXPECT_EQ(reduce(bytes, stream, std::int8_t{-128}, [](auto x, auto y) { return std::max<int>(x, y); }), 99);
  MemArray<float, 1> floats({70'000});  // from 16,384 on, the pieces are the same for all operations
  floats.fill(0.1F);
  place(floats);
  float const sum = reduce(floats, stream, 0.0F, [](double x, double y) { return x + y; });
  EXPECT_EQ(sum, reduce(floats, stream, 0.0F, plus{}));
}

}  // namespace
}  // namespace memarray::test
