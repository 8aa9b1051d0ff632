#include <memarray/kernel/add_index_tuple.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "array/array_test.hpp"
#include "strided/simd_level.hpp"

namespace memarray::test {
namespace {

class AddIndexTupleTest : public ArrayTest {};

template <class T, int ndim>
void adds(std::array<std::int64_t, ndim> const& shape) {
  MemArray<T, ndim> array(shape);
  count_up(array);
  auto const before = contents(array);
  add_index_tuple(array);
  auto const indexer = std::as_const(array).get_indexer();
  for (std::int64_t i = 0; i < array.get_size(); ++i) {
    std::int64_t sum = 0;
    for (std::int64_t const index : indexer.get_indices(i)) sum += index;
    ASSERT_EQ(*indexer.get(i), static_cast<T>(before[static_cast<std::size_t>(i)] + static_cast<T>(sum))) << i;
  }
}

class AddIndexTupleVectorsTest : public AddIndexTupleTest, public ::testing::WithParamInterface<detail::SimdLevel> {
 protected:
  ~AddIndexTupleVectorsTest() override { detail::limit_simd_level(before); }
  detail::SimdLevel before = detail::limit_simd_level(GetParam());
};
INSTANTIATE_TEST_SUITE_P(UpTo, AddIndexTupleVectorsTest,
                         ::testing::Values(detail::SimdLevel::baseline, detail::SimdLevel::avx2,
                                           detail::SimdLevel::avx512));

TEST_P(AddIndexTupleVectorsTest, AddsIndicesInRowsOfEveryLength) {
  if (detail::widest_simd_level() != GetParam()) GTEST_SKIP() << "this processor has no such vectors";
  for (int const threads : {1, 2}) {
    int const before = options().threads.exchange(threads);
    for (std::int64_t const n : {1, 2, 3, 5, 15, 16, 17, 63, 64, 65, 511, 513}) {
      adds<float, 1>({n});
      adds<double, 2>({700, n});
      adds<std::int32_t, 2>({n, 700});
      adds<std::int64_t, 3>({5, n, 7});
      adds<std::uint8_t, 3>({3, 4, n});
      adds<float, 4>({2, 3, n, 2});
      adds<float, 6>({2, 1, 3, n, 2, 2});
    }
    adds<float, 3>({100, 100, 100});
    adds<std::int16_t, 2>({500'000, 3});
    options().threads = before;
  }
}

TEST_F(AddIndexTupleTest, EmptyArraysAreFine) {
  for (std::array<std::int64_t, 3> const shape :
       {std::array<std::int64_t, 3>{0, 3, 4}, {2, 0, 4}, {2, 3, 0}, {0, 0, 0}})
    adds<float, 3>(shape);
}

TEST_F(AddIndexTupleTest, IntegersWrap) {
  MemArray<std::int32_t, 1> array({100});
  array.fill(std::numeric_limits<std::int32_t>::max());
  add_index_tuple(array);
  EXPECT_EQ(array({0}), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(array({99}), std::numeric_limits<std::int32_t>::min() + 98);
}

TEST_F(AddIndexTupleTest, EscapedViewsKeepOldContentsWithoutACopy) {
  MemArray<float, 2> array({100, 30});
  std::vector<View<float>> kept;
  for (int version = 0; version < 5; ++version) {
    kept.push_back(escaped_read_only(array));
    add_index_tuple(array);
  }
  for (int version = 0; version < 5; ++version)
    EXPECT_EQ(kept[static_cast<std::size_t>(version)].data()[99 * 30 + 29], static_cast<float>(version * 128));
  EXPECT_EQ(copies(), 0);
  EXPECT_EQ(versions(), 5);
}

TEST_F(AddIndexTupleTest, InvalidStreamNumbersAreRefused) {
  MemArray<float, 1> array({4});
  EXPECT_THROW(add_index_tuple(array, -2), ValueError);
  EXPECT_EQ(array({3}), 0);
}

}  // namespace
}  // namespace memarray::test
