// The work of a kernel, run on the host for each thread of its grid.

#include <memarray/detail/launch/device_loop.hpp>

#include "launch/grid_test.hpp"

#include <gtest/gtest.h>
#include <memarray/base/array_indexer.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace memarray::detail {
namespace {

template <int ndim>
using Shape = cuda::std::array<std::int64_t, ndim>;

/// Elements at an address aligned for vectors, or `off` elements after it.
template <class T>
class Elements {
 public:
  explicit Elements(std::int64_t count, std::size_t off = 0) : _room(static_cast<std::size_t>(count) + 32), _off(off) {
    auto const misplaced = reinterpret_cast<std::uintptr_t>(_room.data()) / sizeof(T) % 16;
    _off += (16 - misplaced) % 16;
  }
  T* data() { return _room.data() + _off; }
  /// Expects that no memory around the elements was written.
  void expect_borders(std::int64_t count) {
    EXPECT_TRUE(std::all_of(_room.data(), data(), [](T const& t) { return t == T(); }));
    EXPECT_TRUE(std::all_of(data() + count, _room.data() + _room.size(), [](T const& t) { return t == T(); }));
  }

 private:
  std::vector<T> _room;
  std::size_t _off;
};

template <int ndim, class T>
ElementArgument<T, ndim> dense(T const* source, T* target, Shape<ndim> const& shape) {
  ElementArgument<T, ndim> argument{source, target, {}};
  std::int64_t stride = 1;
  for (std::size_t d = ndim; d-- > 0; stride *= shape[d]) argument.strides[d] = stride;
  return argument;
}

/// Adds to each element a number derived from its linear index, and counts the visits of each index in `seen`.
template <int ndim>
struct Mark {
  Shape<ndim> shape;
  std::vector<int>* seen;

  template <class Indices, class T>
  void operator()(Indices const& indices, T& element) const {
    std::int64_t linear = 0;
    for (int d = 0; d < ndim; ++d) linear = linear * shape[d] + indices[d];
    ++(*seen)[static_cast<std::size_t>(linear)];
    element = static_cast<T>(element + static_cast<T>(linear % 50 + 1));
  }
};

struct Layout {
  bool vectors;
  std::size_t off;
  bool in_place;
};

template <class T, class IndexT, class U, int ndim>
void expect_each_once(Shape<ndim> const& shape, Layout const& layout, unsigned blocks, unsigned threads) {
  std::int64_t const size = ArrayIndexer<T, ndim>{nullptr, shape}.size();
  Elements<T> source(size, layout.off);
  Elements<T> fresh(size, layout.off);
  T* const target = layout.in_place ? source.data() : fresh.data();
  for (std::int64_t i = 0; i < size; ++i) source.data()[i] = static_cast<T>(i % 40);
  std::vector<int> seen(static_cast<std::size_t>(size));
  using Loop = DeviceLoop<IndexT, U, ndim, Mark<ndim>, ElementArgument<T, ndim>>;
  Loop loop{static_cast<U>(size),
            0,
            Unravel<U, ndim>(shape),
            {},
            true,
            {shape, &seen},
            {{dense<ndim>(source.data(), target, shape)}}};
  EXPECT_EQ(loop.is_aligned(), layout.off * sizeof(T) % vector_bytes == 0);
  if (layout.vectors) loop.vectors = static_cast<U>(size / Loop::width);
  test::run_on_grid(loop, blocks, threads);
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  for (std::int64_t i = 0; i < size; ++i)
    ASSERT_EQ(target[i], static_cast<T>(static_cast<T>(i % 40) + static_cast<T>(i % 50 + 1))) << i;
  source.expect_borders(size);
  fresh.expect_borders(size);
}

template <class T>
void expect_all_layouts() {
  for (bool const in_place : {true, false}) {
    for (bool const vectors : {false, true}) {
      Layout const layout{vectors, 0, in_place};
      expect_each_once<T, std::int32_t, std::uint32_t, 1>({1}, layout, 1, 32);
      expect_each_once<T, std::int32_t, std::uint32_t, 1>({1003}, layout, 3, 32);
      expect_each_once<T, std::int64_t, std::uint32_t, 2>({37, 32}, layout, 2, 8);
      expect_each_once<T, std::int64_t, std::uint64_t, 2>({100, 3}, layout, 5, 4);
      expect_each_once<T, std::int32_t, std::uint32_t, 3>({5, 7, 16}, layout, 1, 1);
      expect_each_once<T, std::int64_t, std::uint64_t, 4>({3, 2, 5, 11}, layout, 40, 32);
    }
    expect_each_once<T, std::int32_t, std::uint32_t, 2>({37, 32}, {false, 1, in_place}, 2, 8);
  }
}

TEST(DeviceLoopTest, VisitsEachElementOnceForAnyGrid) {
  expect_all_layouts<std::int8_t>();
  expect_all_layouts<std::uint16_t>();
  expect_all_layouts<float>();
  expect_all_layouts<double>();
  expect_all_layouts<std::complex<double>>();
}

struct Triple {
  float x, y, z;
  friend bool operator==(Triple const&, Triple const&) = default;
};

template <class... T>
constexpr int width_of = VectorWidth<ElementArgument<T, 2>...>::value;
static_assert(width_of<char> == 16 && width_of<float> == 4 && width_of<std::complex<double>> == 1);
static_assert(width_of<float, double> == 2 && width_of<char, std::complex<double>> == 1);
static_assert(width_of<Triple> == 0 && width_of<float, Triple> == 0);
static_assert(VectorWidth<ElementArgument<float, 1>, IndexerArgument<ArrayIndexer<float, 1>>>::value == 0);
static_assert(VectorWidth<ElementArgument<float, 1>, StridedElementArgument<float, 1>>::value == 0);
static_assert(sizeof(Vector<float, 4>) == 16 && alignof(Vector<float, 4>) == 16);
static_assert(sizeof(Vector<char, 2>) == 2 && alignof(Vector<char, 2>) == 2);

struct AddAndCarry {
  template <class Indices>
  void operator()(Indices const& at, double& wide, float& narrow, char& flag) const {
    wide += narrow;
    narrow = static_cast<float>(at[0]);
    flag = static_cast<char>(at[1]);
  }
};

TEST(DeviceLoopTest, VectorsOfAllArraysHaveTheSameWidth) {
  Shape<2> const shape{13, 5};
  Elements<double> wide(65);
  Elements<float> narrow(65);
  Elements<char> flags(65);
  std::iota(wide.data(), wide.data() + 65, 0.0);
  std::fill_n(narrow.data(), 65, 0.5F);
  DeviceLoop<std::int64_t, std::uint32_t, 2, AddAndCarry, ElementArgument<double, 2>, ElementArgument<float, 2>,
             ElementArgument<char, 2>>
      loop{65,
           0,
           Unravel<std::uint32_t, 2>(shape),
           {},
           true,
           {},
           {{dense<2>(wide.data(), wide.data(), shape)},
            {dense<2>(narrow.data(), narrow.data(), shape)},
            {dense<2>(flags.data(), flags.data(), shape)}}};
  EXPECT_EQ(loop.width, 2);
  ASSERT_TRUE(loop.is_aligned());
  loop.vectors = 32;
  test::run_on_grid(loop, 3, 4);
  for (int i = 0; i < 65; ++i) {
    EXPECT_EQ(wide.data()[i], i + 0.5);
    EXPECT_EQ(narrow.data()[i], static_cast<float>(i / 5));
    EXPECT_EQ(flags.data()[i], i % 5);
  }
}

struct Gather {
  void operator()(Shape<1> const& at, ArrayIndexer<int const, 1> from, Triple& to) const {
    to.z = to.x + static_cast<float>(from[{9 - at[0]}]);
  }
};

TEST(DeviceLoopTest, ElementAndIndexerArgumentsCanBeCombined) {
  std::array<int, 10> from{};
  std::iota(from.begin(), from.end(), 0);
  std::array<Triple, 10> to{};
  for (int i = 0; i < 10; ++i) to[static_cast<std::size_t>(i)] = {static_cast<float>(i), 7, 0};
  DeviceLoop<std::int64_t, std::uint32_t, 1, Gather, IndexerArgument<ArrayIndexer<int const, 1>>,
             ElementArgument<Triple, 1>>
      loop{10,
           0,
           Unravel<std::uint32_t, 1>(Shape<1>{10}),
           {},
           true,
           {},
           {{IndexerArgument<ArrayIndexer<int const, 1>>{{from.data(), {10}}}},
            {dense<1>(to.data(), to.data(), Shape<1>{10})}}};
  EXPECT_FALSE(loop.is_aligned());
  test::run_on_grid(loop, 2, 3);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(to[static_cast<std::size_t>(i)], (Triple{static_cast<float>(i), 7, 9}));
}

struct AddFirst {
  template <class Indices>
  void operator()(Indices const& at, std::int64_t& element, StridedIndexer<int const, 2> from) const {
    element += 10 * from[at] + from[{0, 0}];
  }
};

template <class U, class IndexT>
void expect_strided_once(unsigned blocks, unsigned threads) {
  // Rows from the last to the first, and every third column.
  Elements<std::int64_t> elements(6 * 12);
  std::fill_n(elements.data(), 72, 1);
  std::array<int, 4> column{5, 6, 7, 8};
  StridedElementArgument<std::int64_t, 2> const to{{elements.data() + 5 * 12, {6, 4}, {-12, 3}}};
  IndexerArgument<StridedIndexer<int const, 2>> const from{{column.data() + 3, {6, 4}, {0, -1}}};
  using Loop = DeviceLoop<IndexT, U, 2, AddFirst, StridedElementArgument<std::int64_t, 2>,
                          IndexerArgument<StridedIndexer<int const, 2>>>;
  Loop const loop{3 * 4, 0, Unravel<U, 2>(Shape<2>{3, 4}), {1, 0}, true, {}, {{to}, {from}}};
  EXPECT_FALSE(loop.is_aligned());
  test::run_on_grid(loop, blocks, threads);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 12; ++j) {
      bool const inside = i >= 2 && i < 5 && j % 3 == 0;
      EXPECT_EQ(elements.data()[12 * i + j], inside ? 1 + 10 * (8 - j / 3) + 8 : 1) << i << " " << j;
    }
  elements.expect_borders(72);
}

TEST(DeviceLoopTest, ElementsOfStridedViewsAreVisitedOnce) {
  for (unsigned const threads : {1U, 3U, 32U})
    for (unsigned const blocks : {1U, 2U, 5U}) {
      expect_strided_once<std::uint32_t, std::int32_t>(blocks, threads);
      expect_strided_once<std::uint64_t, std::int64_t>(blocks, threads);
    }
}

struct AddIndexOnce {
  template <class Indices>
  void operator()(Indices const& at, std::int64_t& element) const {
    element += 100 + 10 * at[0] + at[1];
  }
};

TEST(DeviceLoopTest, PartOfAnArrayIsVisitedWithItsIndices) {
  Shape<2> const shape{6, 8};
  Elements<std::int64_t> elements(48);
  std::fill_n(elements.data(), 48, 1);
  DeviceLoop<std::int32_t, std::uint32_t, 2, AddIndexOnce, ElementArgument<std::int64_t, 2>> loop{
      12,
      0,
      Unravel<std::uint32_t, 2>(Shape<2>{3, 4}),
      {2, 3},
      false,
      {},
      {{dense<2>(elements.data(), elements.data(), shape)}}};
  EXPECT_FALSE(loop.is_aligned()) << "vectors visit whole arrays";
  test::run_on_grid(loop, 2, 3);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 8; ++j) {
      bool const inside = i >= 2 && i < 5 && j >= 3 && j < 7;
      EXPECT_EQ(elements.data()[8 * i + j], inside ? 101 + 10 * i + j : 1) << i << " " << j;
    }
  elements.expect_borders(48);
}

}  // namespace
}  // namespace memarray::detail
