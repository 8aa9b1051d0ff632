#include <memarray/kernel/atomic_add.hpp>

#include <gtest/gtest.h>

#include <cstdint>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

class AtomicAddTest : public ArrayTest {};

template <class T>
void loses_nothing() {
  MemArray<T, 1> bins({4});
  MemArray<T, 1> ones({400'000});
  ones.fill(T{1});
  for_each_index(
      ones.get_shape(), default_stream(),
      [](auto const& i, auto one, auto bin) { atomic_add(bin[{i[0] % 4}], one[i]); }, read(ones), write(bins));
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(bins({i}), T{100'000});
}

TEST_F(AtomicAddTest, LosesNothingBetweenThreads) {
  int const before = options().threads.exchange(2);
  loses_nothing<std::int32_t>();
  loses_nothing<std::uint32_t>();
  loses_nothing<std::int64_t>();
  loses_nothing<std::uint64_t>();
  loses_nothing<float>();
  loses_nothing<double>();
  options().threads = before;
}

TEST_F(AtomicAddTest, ReturnsTheOldValue) {
  double value = 2;
  EXPECT_EQ(atomic_add(value, 3.0), 2);
  EXPECT_EQ(value, 5);
  std::uint32_t wraps = 0xFFFFFFFF;
  EXPECT_EQ(atomic_add(wraps, 2U), 0xFFFFFFFF);
  EXPECT_EQ(wraps, 1U);
}

}  // namespace
}  // namespace memarray::test
