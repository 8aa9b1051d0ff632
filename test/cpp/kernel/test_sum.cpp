#include <memarray/kernel/sum.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

class SumTest : public ArrayTest {};

template <class T>
void sums_up() {
  for (std::int64_t n = 0; n < 300; ++n) {
    MemArray<T, 1> array({n});
    count_up(array);
    using Sum = decltype(sum(array, default_stream()));
    double expected = 0;
    for (std::int64_t i = 0; i < n; ++i)
      expected += std::is_same_v<T, bool> ? i % 100 != 0 : static_cast<double>(i % 100);
    ASSERT_EQ(sum(array, default_stream()), static_cast<Sum>(expected)) << dtype_of<T>().name << " " << n;
  }
}

TEST_F(SumTest, SumOfEachDtypeIsExactIn64Bits) {
#define MEMARRAY_TEST_SUM(type, name, code, bits) sums_up<type>();
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_TEST_SUM)
#undef MEMARRAY_TEST_SUM
  static_assert(std::is_same_v<detail::SumOf<bool>::type, std::uint64_t>);
  static_assert(std::is_same_v<detail::SumOf<std::int8_t>::type, std::int64_t>);
  static_assert(std::is_same_v<detail::SumOf<float>::type, double>);
  static_assert(std::is_same_v<detail::SumOf<std::complex<float>>::type, std::complex<double>>);
}

TEST_F(SumTest, IntegersWrap) {
  MemArray<std::int64_t, 1> array({20});
  array.fill(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(sum(array, default_stream()), -20);
  MemArray<std::uint64_t, 1> unsigned_array({2});
  unsigned_array.fill(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(sum(unsigned_array, default_stream()), std::numeric_limits<std::uint64_t>::max() - 1);
}

TEST_F(SumTest, SmallFloatsAreNotLostInALargeSum) {
  MemArray<float, 1> array({1 << 20});
  array.fill(0.1F);
  EXPECT_NEAR(sum(array, default_stream()), static_cast<double>(0.1F) * (1 << 20), 1e-3);
}

TEST_F(SumTest, DoesNotDependOnTheNumberOfThreads) {
  MemArray<double, 1> array({(1 << 20) + 7});
  for_each_index(array, default_stream(),
                 [](double& e, auto const& i) { e = 1.0 / (1.0 + static_cast<double>(i[0])); });
  int const before = options().threads.exchange(1);
  double const alone = sum(array, default_stream());
  options().threads = 2;
  EXPECT_EQ(sum(array, default_stream()), alone);
  options().threads = before;
}

TEST_F(SumTest, SumOfAnEmptyArrayIsZero) {
  EXPECT_EQ(sum(MemArray<double, 2>({0, 4}), default_stream()), 0);
  EXPECT_EQ(sum(MemArray<std::int32_t, 1>({0}), default_stream()), 0);
}

}  // namespace
}  // namespace memarray::test
