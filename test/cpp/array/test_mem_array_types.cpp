// One program, run for every shipped dtype and rank.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda/std/array>

#include "array_test.hpp"
#include "every_instance.hpp"

namespace memarray::test {
namespace {

template <class A>
struct Program;

template <class T, int ndim>
struct Program<MemArray<T, ndim>> {
  using Array = MemArray<T, ndim>;
  using Shape = std::array<std::int64_t, ndim>;

  static Shape shape() {
    Shape result{};
    for (std::size_t d = 0; d < ndim; ++d) result[d] = static_cast<std::int64_t>(2 + d % 3);
    return result;
  }
  static T value(std::int64_t n) { return test::value<T>(n); }

  /// Writes 2 everywhere, adds the index sums and compares, like every user's first program.
  static void writes_and_adds_indices() {
    Array array(shape(), 0);
    auto const indexer = std::as_const(array).get_indexer();
    ASSERT_EQ(indexer.size(), array.get_size());
    for (std::int64_t i = 0; i < array.get_size(); ++i) {
      ASSERT_EQ(array(indexer.get_indices(i)), T());
      array.write(indexer.get_indices(i), value(2));
    }
    add_index_tuple(array);
    add_index_tuple(array, 0);
    EXPECT_FALSE(array.get_on_device());
    for (std::int64_t i = 0; i < array.get_size(); ++i) {
      auto const indices = indexer.get_indices(i);
      T expected = value(2);
      std::int64_t const sum = std::accumulate(indices.begin(), indices.end(), std::int64_t{0});
      for (int twice = 0; twice < 2; ++twice) expected = static_cast<T>(expected + value(sum));
      std::array<int, ndim> plain{};
      for (std::size_t d = 0; d < ndim; ++d) plain[d] = static_cast<int>(indices[d]);
      ASSERT_EQ(array(plain), expected);
      ASSERT_EQ(*indexer.get(indexer(indices)), expected);
    }
  }

  static void exports_its_memory() {
    Array array(shape(), 0);
    count_up(array);
    auto const before = contents(array);
    array.enter(3);
    ASSERT_EQ(array.get_lock_id(), 3);
    DLPackTensor const tensor = array.get_dlpack_tensor(false, 3);
    array.exit();
    DLTensor const& dl = tensor.tensor();
    ASSERT_EQ(dl.ndim, ndim);
    ASSERT_EQ(dl.dtype.code, dtype_of<T>().dl.code);
    ASSERT_EQ(dl.dtype.bits, 8 * sizeof(T));
    ASSERT_EQ(dl.dtype.lanes, 1);
    std::int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; --d) {
      ASSERT_EQ(dl.shape[d], array.get_shape()[static_cast<std::size_t>(d)]);
      ASSERT_EQ(dl.strides[d], stride);
      stride *= dl.shape[d];
    }
    ASSERT_EQ(std::vector<T>(static_cast<T*>(dl.data), static_cast<T*>(dl.data) + array.get_size()), before);
    View<T> const kept = escaped_read_only(array);
    array.fill(value(1));
    ASSERT_EQ(kept.copy(), before);
    ASSERT_EQ(array(Shape{}), value(1));
    ASSERT_THROW(array.move_memory(kDLCUDA, 0, 77), CudaError);
    array.move_memory(kDLCPU, 0, 0, -1, false);
  }

  static void copies_moves_swaps_and_resizes() {
    Array array(shape(), 0);
    count_up(array);
    Array copy(array);
    ASSERT_EQ(contents(copy), contents(array));
    Array assigned(Shape{}, 0);
    assigned = copy;
    ASSERT_EQ(contents(assigned), contents(array));
    copy.fill(value(9));
    swap(copy, assigned);
    ASSERT_EQ(contents(copy), contents(array));
    Array const moved = std::move(assigned);
    ASSERT_EQ(moved(Shape{}), value(9));
    Shape larger = array.get_shape();
    larger[0] += 1;
    auto expected = contents(array);
    array.resize(larger);
    expected.resize(static_cast<std::size_t>(array.get_size()), T());
    ASSERT_EQ(contents(array), expected);
    array.exchange(copy);
    ASSERT_EQ(array.get_shape(), shape());
  }
};

// One test iterates over all instances: as typed tests GoogleTest would take minutes to compile.
template <class Run>
void for_each_array(Run const& run) {
  for_each_instance([&]<class A>(std::type_identity<A>) {
    SCOPED_TRACE(std::string(dtype_of<typename A::value_type>().name_view()) + ", rank " + std::to_string(A::NDIM));
    run(std::type_identity<Program<A>>());
  });
}

class MemArrayTypesTest : public ArrayTest {};

TEST_F(MemArrayTypesTest, WritesAndAddsIndices) {
  int instances = 0;
  for_each_array([&]<class P>(std::type_identity<P>) {
    ++instances;
    P::writes_and_adds_indices();
  });
  EXPECT_EQ(instances, tested_instances);
}

TEST_F(MemArrayTypesTest, ExportDescribesArrayAndSurvivesWrites) {
  for_each_array([]<class P>(std::type_identity<P>) { P::exports_its_memory(); });
}

TEST_F(MemArrayTypesTest, CopiesMovesSwapsAndResizes) {
  for_each_array([]<class P>(std::type_identity<P>) { P::copies_moves_swaps_and_resizes(); });
}

}  // namespace
}  // namespace memarray::test
