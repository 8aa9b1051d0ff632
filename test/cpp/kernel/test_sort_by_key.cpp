#include <memarray/kernel/sort_by_key.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernel/places_test.hpp"

namespace memarray::test {
namespace {

class SortByKeyTest : public PlacesTest {};
INSTANTIATE_TEST_SUITE_P(Places, SortByKeyTest, ::testing::Values(1, 2, 0), name_of_place);

template <class K>
K some_key(std::mt19937& random, int range) {
  using Limits = std::numeric_limits<K>;
  auto const small = static_cast<K>(static_cast<int>(random() % static_cast<unsigned>(range)) - range / 2);
  if constexpr (Limits::is_iec559) {
    K const special[] = {K(0),
                         -K(0),
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::quiet_NaN(),
                         -Limits::quiet_NaN(),
                         Limits::denorm_min(),
                         -Limits::denorm_min(),
                         Limits::max(),
                         Limits::lowest()};
    return random() % 3 == 0 ? special[random() % std::size(special)] : static_cast<K>(small / K(7));
  } else {
    K const special[] = {Limits::min(), Limits::max(), K(0), static_cast<K>(-1)};
    return random() % 5 == 0 ? special[random() % std::size(special)] : small;
  }
}

// NumPy's order.
template <class K>
bool comes_before(K left, K right) {
  if constexpr (std::numeric_limits<K>::is_iec559)
    if (std::isnan(left) || std::isnan(right)) return !std::isnan(left) && std::isnan(right);
  return left < right;
}

template <class K>
bool is_same(K left, K right) {
  if constexpr (std::numeric_limits<K>::is_iec559) {
    if (std::isnan(left) || std::isnan(right)) return std::isnan(left) && std::isnan(right);
    return left == right && std::signbit(left) == std::signbit(right);
  }
  return left == right;
}

template <class K>
void sorts_stably(std::int64_t n, int range, auto const& place, auto const& fetched, StreamHandle const& stream) {
  std::mt19937 random(static_cast<unsigned>(n + range));
  MemArray<K, 1> keys({n});
  MemArray<std::int32_t, 1> values({n});
  struct Pair {
    K key;
    std::int32_t value;
  };
  std::vector<Pair> expected;
  for (std::int32_t i = 0; i < n; ++i) {
    expected.push_back({some_key<K>(random, range), i});
    keys.write({i}, expected.back().key);
    values.write({i}, i);
  }
  std::ranges::stable_sort(expected, [](auto& a, auto& b) { return comes_before(a.key, b.key); });
  place(keys);
  place(values);
  sort_by_key(keys, values, stream);
  auto const sorted = fetched(keys);
  auto const order = fetched(values);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(order[i], expected[i].value) << dtype_of<K>().name << " " << n << " at " << i;
    ASSERT_TRUE(is_same<K>(sorted[i], expected[i].key)) << dtype_of<K>().name << " " << n << " at " << i;
  }
}

TEST_P(SortByKeyTest, EachTypeOfKeysIsSortedStably) {
  auto const put = [&](auto& array) { place(array); };
  auto const get = [&](auto& array) { return fetched(array); };
  for (std::int64_t const n : {0, 1, 2, 7, 1000, 5000, 200'000})
    for (int const range : {1, 100, 1'000'000}) {
      if (n > 5000) {
        // Enough for several threads.
        sorts_stably<std::int16_t>(n, range, put, get, stream);
        sorts_stably<double>(n, range, put, get, stream);
        continue;
      }
      sorts_stably<std::int8_t>(n, range, put, get, stream);
      sorts_stably<std::uint8_t>(n, range, put, get, stream);
      sorts_stably<std::int16_t>(n, range, put, get, stream);
      sorts_stably<std::uint16_t>(n, range, put, get, stream);
      sorts_stably<std::int32_t>(n, range, put, get, stream);
      sorts_stably<std::uint32_t>(n, range, put, get, stream);
      sorts_stably<std::int64_t>(n, range, put, get, stream);
      sorts_stably<std::uint64_t>(n, range, put, get, stream);
      sorts_stably<float16>(n, range, put, get, stream);
      sorts_stably<bfloat16>(n, range, put, get, stream);
      sorts_stably<float>(n, range, put, get, stream);
      sorts_stably<double>(n, range, put, get, stream);
    }
}

TEST_P(SortByKeyTest, KeysThatDifferAtTheirEndAloneAreSorted) {
  for (std::int64_t const lowest : {0, 6, 7 - (1 << 20)}) {
    MemArray<std::int32_t, 1> keys({100});
    MemArray<std::int64_t, 1> values({100});
    for (std::int64_t i = 0; i < 100; ++i) {
      keys.write({i}, static_cast<std::int32_t>(i == 99 ? lowest : 7));
      values.write({i}, i);
    }
    place(keys);
    place(values);
    sort_by_key(keys, values, launch{.stream = stream, .threads = 4});
    auto const sorted = fetched(values);
    EXPECT_EQ(sorted[0], 99) << lowest;
    for (std::size_t i = 1; i < 100; ++i) ASSERT_EQ(sorted[i], static_cast<std::int64_t>(i) - 1);
    EXPECT_EQ(fetched(keys)[0], lowest);
  }
}

TEST_P(SortByKeyTest, KeysThatDifferInSomeBitsAloneAreSorted) {
  for (std::uint64_t const bits :
       {std::uint64_t{1} << 63, std::uint64_t{1} << 31 | 1, std::uint64_t{0x1FF} << 20, std::uint64_t{0xFFF} << 5,
        std::uint64_t{0xF00000000000000F}, std::uint64_t{0x0000FFFFFF000000}, ~std::uint64_t{0}}) {
    std::mt19937_64 random(bits);
    constexpr std::int64_t n = 5000;
    MemArray<std::uint64_t, 1> keys({n});
    MemArray<std::int64_t, 1> values({n});
    std::vector<std::pair<std::uint64_t, std::int64_t>> expected;
    for (std::int64_t i = 0; i < n; ++i) {
      expected.emplace_back((random() & bits) | (0x5A5A5A5A5A5A5A5A & ~bits), i);
      keys.write({i}, expected.back().first);
      values.write({i}, i);
    }
    std::ranges::stable_sort(expected, {}, &std::pair<std::uint64_t, std::int64_t>::first);
    place(keys);
    place(values);
    sort_by_key(keys, values, stream);
    auto const sorted = fetched(keys);
    auto const order = fetched(values);
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(std::pair(sorted[i], order[i]), expected[i]) << bits;
  }
}

TEST_P(SortByKeyTest, RowsMoveWithTheirKeys) {
  MemArray<std::uint32_t, 1> keys({300});
  MemArray<double, 2> rows({300, 3});
  MemArray<std::uint8_t, 3> odd({300, 5, 1});
  MemArray<float, 2> none({300, 0});
  for (std::int64_t i = 0; i < 300; ++i) {
    keys.write({i}, static_cast<std::uint32_t>(i * 7 % 300));
    for (std::int64_t j = 0; j < 3; ++j) rows.write({i, j}, static_cast<double>(10 * (i * 7 % 300) + j));
    for (std::int64_t j = 0; j < 5; ++j) odd.write({i, j, 0}, static_cast<std::uint8_t>(i * 7 % 300 + j));
  }
  MemArray<std::uint32_t, 1> again(keys);
  MemArray<std::uint32_t, 1> third(keys);
  for (auto* array : {&keys, &again, &third}) place(*array);
  place(rows);
  place(odd);
  place(none);
  sort_by_key(keys, rows, stream);
  sort_by_key(again, odd, stream);
  sort_by_key(third, none, stream);
  auto const sorted = fetched(rows);
  auto const bytes = fetched(odd);
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t j = 0; j < 3; ++j) ASSERT_EQ(sorted[3 * i + j], static_cast<double>(10 * i + j));
    for (std::size_t j = 0; j < 5; ++j) ASSERT_EQ(bytes[5 * i + j], static_cast<std::uint8_t>(i + j));
  }
  EXPECT_EQ(fetched(third)[299], 299U);
}

TEST_P(SortByKeyTest, EscapedViewsShowTheOldOrder) {
  MemArray<double, 1> keys({100});
  MemArray<double, 1> values({100});
  for (std::int64_t i = 0; i < 100; ++i) {
    keys.write({i}, static_cast<double>(99 - i));
    values.write({i}, static_cast<double>(i));
  }
  place(keys);
  place(values);
  WriteLease<double, 1> lease(keys);
  ConstBufferView const view(lease);
  lease.close();
  sort_by_key(keys, values, stream);
  EXPECT_EQ(contents_of(view).front(), 99);
  EXPECT_EQ(fetched(keys).front(), 0);
  EXPECT_EQ(fetched(values).front(), 99);
}

TEST_P(SortByKeyTest, PiecesOfManyThreadsAreJoined) {
  MemArray<std::int32_t, 1> keys({30'000});
  MemArray<std::int32_t, 1> values({30'000});
  for_each_index(
      {30'000}, stream,
      [](std::int64_t i, std::int32_t& key, std::int32_t& value) {
        key = static_cast<std::int32_t>(i * 7919 % 100);
        value = static_cast<std::int32_t>(i);
      },
      update(keys), update(values));
  place(keys);
  place(values);
  sort_by_key(keys, values, launch{.stream = stream, .threads = 50'000});
  auto const sorted = fetched(keys);
  auto const moved = fetched(values);
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    ASSERT_LE(sorted[i - 1], sorted[i]);
    if (sorted[i - 1] == sorted[i]) {
      ASSERT_LT(moved[i - 1], moved[i]) << "stable";
    }
  }
}

TEST_P(SortByKeyTest, RefusedArgumentsChangeNothing) {
  MemArray<std::int32_t, 1> keys({4});
  MemArray<std::int32_t, 1> few({3});
  MemArray<std::int32_t, 1> values({4});
  for (std::int64_t i = 0; i < 4; ++i) keys.write({i}, static_cast<std::int32_t>(4 - i));
  place(keys);
  place(few);
  place(values);
  EXPECT_NE(message_of<ValueError>([&] { sort_by_key(keys, few, stream); }).find("with each key"), std::string::npos);
  EXPECT_THROW(sort_by_key(keys, keys, stream), LockError);
  EXPECT_THROW(sort_by_key(keys, values, StreamHandle()), ValueError);
  {
    ReadLease<std::int32_t, 1> const lease(values);
    EXPECT_THROW(sort_by_key(keys, values, stream), LockError);
  }
  EXPECT_EQ(fetched(keys), (std::vector<std::int32_t>{4, 3, 2, 1}));
}

}  // namespace
}  // namespace memarray::test
