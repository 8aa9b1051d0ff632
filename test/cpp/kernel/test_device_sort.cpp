// The kernels of a sort on a device, run on the host for each thread of their grids, with a stable sort in place of
// CUB's.

#include "kernel/device_sort.hpp"

#include <gtest/gtest.h>
#include <memarray/base/dtype.hpp>
#include <memarray/kernel/sort_by_key.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace memarray::detail {
namespace {

struct Grid {
  unsigned blocks;
  unsigned threads;
};
constexpr Grid grids[] = {{1, 1}, {1, 7}, {3, 32}, {5, 256}, {1100, 1}};

/// A device whose grids run thread by thread, the last block first.
class HostMachine {
 public:
  explicit HostMachine(Grid grid) : _grid(grid) {}

  int scratch_left = -1;  ///< calls of `scratch` before memory runs out; negative: any number
  std::vector<std::size_t> words;

  template <class Kernel>
  void launch(Kernel const& kernel, std::int64_t size) {
    ASSERT_GT(size, 0);
    if constexpr (requires { Kernel::word; }) {
      words.push_back(Kernel::word);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(kernel.from) % Kernel::word, 0U);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(kernel.to) % Kernel::word, 0U);
    }
    for (unsigned block = _grid.blocks; block-- > 0;)
      for (unsigned thread = 0; thread < _grid.threads; ++thread)
        kernel.run({block, thread, _grid.blocks, _grid.threads});
  }
  std::byte* scratch(std::size_t bytes) {
    if (scratch_left-- == 0) throw std::bad_alloc();
    _scratch.push_back(std::make_unique<std::vector<std::max_align_t>>(bytes / sizeof(std::max_align_t) + 1));
    auto* const memory = reinterpret_cast<std::byte*>(_scratch.back()->data());
    std::memset(memory, 0x5a, bytes);
    return memory;
  }
  static void copy(std::byte* to, std::byte const* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  template <class U, class Position>
  static void sort_pairs(U const* orders, U* sorted, Position const* positions, Position* order, std::int64_t size) {
    std::vector<std::size_t> by_order(static_cast<std::size_t>(size));
    std::iota(by_order.begin(), by_order.end(), std::size_t{0});
    std::ranges::stable_sort(by_order, [&](std::size_t a, std::size_t b) { return orders[a] < orders[b]; });
    for (std::size_t i = 0; i < by_order.size(); ++i) {
      sorted[i] = orders[by_order[i]];
      order[i] = positions[by_order[i]];
    }
  }

 private:
  Grid _grid;
  std::vector<std::unique_ptr<std::vector<std::max_align_t>>> _scratch;
};

/// Bytes between guards, `off` bytes after an aligned address.
class Memory {
 public:
  Memory(std::size_t bytes, std::size_t off) : _bytes(bytes), _off(guard + off), _room(bytes + off + 2 * guard) {
    std::memset(_room.data(), 0xcd, _room.size());
  }
  [[nodiscard]] std::byte* data() { return _room.data() + _off; }
  [[nodiscard]] std::vector<std::byte> contents() { return {data(), data() + _bytes}; }
  void set(std::vector<std::byte> const& bytes) { std::copy(bytes.begin(), bytes.end(), data()); }
  [[nodiscard]] bool is_intact() const {
    auto const is_guard = [](std::byte b) { return b == std::byte{0xcd}; };
    auto const begin = _room.begin() + static_cast<std::ptrdiff_t>(_off);
    return std::all_of(_room.begin(), begin, is_guard) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(_bytes), _room.end(), is_guard);
  }

 private:
  static constexpr std::size_t guard = 32;
  std::size_t _bytes;
  std::size_t _off;
  std::vector<std::byte> _room;
};

class DeviceSortTest : public ::testing::Test {
 protected:
  std::mt19937 random{20261126};

  std::vector<std::byte> random_bytes(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
  }
  /// Returns keys of any bits, of which many are equal, zeros of both signs, infinities or NaN.
  template <class K>
  std::vector<K> some_keys(std::int64_t size) {
    std::vector<K> keys(static_cast<std::size_t>(size));
    for (auto&& key : keys) {
      if constexpr (std::is_same_v<K, bool>) {
        key = random() % 2 == 0;
      } else {
        float const special[] = {0.0F, -0.0F, 1.0F, -1.0F, INFINITY, -INFINITY, NAN};
        if (random() % 2 == 0)
          std::memcpy(&key, random_bytes(sizeof(K)).data(), sizeof(K));
        else if (std::is_integral_v<K>)
          key = static_cast<K>(static_cast<int>(random() % 5) - 2);
        else
          key = static_cast<K>(special[random() % std::size(special)]);
      }
    }
    return keys;
  }
};

template <class K>
bool comes_before(K const& left, K const& right) {
  if constexpr (std::is_integral_v<K>) {
    return left < right;
  } else {
    auto const a = static_cast<double>(left);
    auto const b = static_cast<double>(right);
    return std::isnan(b) ? !std::isnan(a) : a < b;
  }
}

/// Returns the elements in the given order.
std::vector<std::byte> taken(std::vector<std::byte> const& elements, std::size_t bytes,
                             std::vector<std::size_t> const& order) {
  std::vector<std::byte> result;
  for (std::size_t const i : order)
    for (std::size_t b = 0; b < bytes; ++b) result.push_back(elements[i * bytes + b]);
  return result;
}

struct Layout {
  std::size_t value_bytes;
  std::size_t off;  ///< of the values' address, from an aligned one
  bool in_place;
};

/// `Position`: void for that which `DeviceSort::run` chooses.
template <class K, class Position>
void expect_sorted(std::vector<K> const& keys, std::vector<std::byte> const& values, Layout const& layout, Grid grid) {
  auto const size = static_cast<std::int64_t>(keys.size());
  std::vector<std::byte> key_bytes(keys.size() * sizeof(K));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    K const key = keys[i];
    std::memcpy(key_bytes.data() + i * sizeof(K), &key, sizeof(K));
  }
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](auto a, auto b) { return comes_before<K>(keys[a], keys[b]); });

  Memory from(key_bytes.size(), 0);
  Memory to(key_bytes.size(), 0);
  Memory values_from(values.size(), layout.off);
  Memory values_to(values.size(), layout.off);
  from.set(key_bytes);
  values_from.set(values);
  KeySort const sort{size,
                     kind_of_key<K>(),
                     sizeof(K),
                     layout.value_bytes,
                     from.data(),
                     layout.in_place ? from.data() : to.data(),
                     values_from.data(),
                     layout.in_place ? values_from.data() : values_to.data()};
  HostMachine machine(grid);
  if constexpr (std::is_void_v<Position>)
    DeviceSort(sort, machine).run();
  else
    DeviceSort(sort, machine).template run_with<Position>();

  ASSERT_EQ((layout.in_place ? from : to).contents(), taken(key_bytes, sizeof(K), order));
  ASSERT_EQ((layout.in_place ? values_from : values_to).contents(), taken(values, layout.value_bytes, order));
  if (!layout.in_place) {
    ASSERT_EQ(from.contents(), key_bytes);
    ASSERT_EQ(values_from.contents(), values);
  }
  for (Memory const* memory : {&from, &to, &values_from, &values_to}) ASSERT_TRUE(memory->is_intact());
}

TEST_F(DeviceSortTest, ThreadsOfAnyGridGiveTheOrderOfAStableSort) {
  int dtypes = 0;
  auto const expect_for = [&]<class K>(K) {
    if constexpr (is_key<K>) {
      ++dtypes;
      for (std::int64_t const size : {0, 1, 255, 256, 1000})
        for (Grid const grid : grids) {
          SCOPED_TRACE(std::string(dtype_of<K>().name) + ", " + std::to_string(size) + " keys, grid of " +
                       std::to_string(grid.blocks) + " x " + std::to_string(grid.threads));
          auto const keys = some_keys<K>(size);
          auto const values = random_bytes(static_cast<std::size_t>(size) * 4);
          expect_sorted<K, void>(keys, values, {4, 0, true}, grid);
          expect_sorted<K, void>(keys, values, {4, 0, false}, grid);
          expect_sorted<K, std::uint64_t>(keys, values, {4, 0, true}, grid);
        }
    }
  };
#define MEMARRAY_TEST_KEYS(type, name, code, bits) expect_for(type{});
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_TEST_KEYS)
#undef MEMARRAY_TEST_KEYS
  EXPECT_EQ(dtypes, 13);
}

TEST_F(DeviceSortTest, ValuesOfAnySizeAndAddressMoveWithTheirKeys) {
  auto const keys = some_keys<float>(300);
  for (std::size_t const value_bytes : {0, 1, 2, 3, 5, 8, 12, 16, 37, 40})
    for (std::size_t const off : {0, 1, 2, 4})
      for (bool const in_place : {true, false}) {
        SCOPED_TRACE(std::to_string(value_bytes) + " bytes at " + std::to_string(off));
        auto const values = random_bytes(300 * value_bytes);
        for (Grid const grid : grids)
          if (in_place)
            expect_sorted<float, std::uint32_t>(keys, values, {value_bytes, off, true}, grid);
          else
            expect_sorted<float, std::uint64_t>(keys, values, {value_bytes, off, false}, grid);
      }
}

TEST_F(DeviceSortTest, WordsOfFourBytesAreMovedWhereTheyFit) {
  Memory keys(2 * 10, 0);
  Memory values(8 * 10, 0);
  HostMachine machine({1, 4});
  KeySort sort{10, KeyKind::unsigned_integer, 2, 8, keys.data(), keys.data(), values.data(), values.data()};
  DeviceSort(sort, machine).run();
  EXPECT_EQ(machine.words, (std::vector<std::size_t>{4, 1})) << "values, then keys of 2 bytes";
  machine.words.clear();
  sort.value_bytes = 6;
  DeviceSort(sort, machine).run();
  EXPECT_EQ(machine.words, (std::vector<std::size_t>{1, 1}));
}

TEST_F(DeviceSortTest, NothingIsWrittenIfScratchMemoryRunsOut) {
  auto const old_keys = random_bytes(4 * 100);
  auto const old_values = random_bytes(8 * 100);
  int failures = 0;
  for (int available = 0;; ++available) {
    Memory keys(old_keys.size(), 0);
    Memory values(old_values.size(), 0);
    keys.set(old_keys);
    values.set(old_values);
    KeySort const sort{100, KeyKind::signed_integer, 4, 8, keys.data(), keys.data(), values.data(), values.data()};
    HostMachine machine({2, 16});
    machine.scratch_left = available;
    try {
      DeviceSort(sort, machine).run();
      EXPECT_NE(keys.contents(), old_keys);
      EXPECT_NE(values.contents(), old_values);
      break;
    } catch (std::bad_alloc const&) {
      ++failures;
      EXPECT_EQ(keys.contents(), old_keys);
      EXPECT_EQ(values.contents(), old_values);
    }
  }
  EXPECT_EQ(failures, 6) << "orders and positions, each before and after the sort, then copies of values and keys";
}

}  // namespace
}  // namespace memarray::detail
