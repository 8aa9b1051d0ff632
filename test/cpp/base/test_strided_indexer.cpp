#include <memarray/base/strided_indexer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

namespace memarray {
namespace {

TEST(StridedIndexerTest, FindsElementsByStrides) {
  std::vector<int> elements(24);
  std::iota(elements.begin(), elements.end(), 0);
  // Columns of a 4 by 6 array, from the last one backwards.
  StridedIndexer<int, 2> const columns{elements.data() + 5, {6, 4}, {-1, 6}};
  EXPECT_EQ(columns.size(), 24);
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 4; ++j) {
      EXPECT_EQ((columns[{i, j}]), 5 - i + 6 * j);
      EXPECT_EQ((columns[std::array<std::int32_t, 2>{static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)}]),
                5 - i + 6 * j);
      EXPECT_EQ(columns(std::array<std::int64_t, 2>{i, j}), 6 * j - i);
    }
}

TEST(StridedIndexerTest, TakesOneIndexOfAnyIntegerType) {
  std::vector<double> elements{0, 1, 2, 3, 4, 5};
  StridedIndexer<double const, 1> const even{elements.data(), {3}, {2}};
  EXPECT_EQ(even[2], 4);
  EXPECT_EQ(even[std::uint8_t{1}], 2);
  EXPECT_EQ(even[std::int64_t{0}], 0);
}

TEST(StridedIndexerTest, IndicesMayShareElements) {
  float element = 3;
  StridedIndexer<float, 3> const same{&element, {2, 3, 0}, {0, 0, 0}};
  EXPECT_EQ(same.size(), 0);
  EXPECT_EQ((same.shape()[1]), 3);
  StridedIndexer<float, 1> const all{&element, {5}, {0}};
  all[4] = 7;
  EXPECT_EQ(all[0], 7);
}

#if !defined(NDEBUG)
TEST(StridedIndexerDeathTest, DebugBuildsCheckBounds) {
  std::vector<int> elements(4);
  StridedIndexer<int, 1> const indexer{elements.data(), {4}, {1}};
  EXPECT_DEATH(static_cast<void>(indexer[4]), "");
  EXPECT_DEATH(static_cast<void>(indexer[-1]), "");
}
#endif

}  // namespace
}  // namespace memarray
