// Runs `DeviceProgram` on simulated devices, for all shipped dtypes and ranks 1 to 6. Sanitizer builds use a selection.

#include <gtest/gtest.h>
#include <memarray/driver/simulated_devices.hpp>

#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "array_test.hpp"
#include "every_instance.hpp"

namespace memarray::test {
namespace {

template <class A>
struct DeviceProgram;

template <class T, int ndim>
struct DeviceProgram<MemArray<T, ndim>> {
  using Array = MemArray<T, ndim>;
  using Shape = std::array<std::int64_t, ndim>;

  static Array counted(int device_id = 0) {
    Shape shape{};
    for (std::size_t d = 0; d < ndim; ++d) shape[d] = static_cast<std::int64_t>(2 + d % 3);
    Array array(shape, device_id);
    count_up(array);
    return array;
  }
  /// Returns the elements. Reads each one by its indices: on a device, one copy to the host for each.
  static std::vector<T> elements(Array const& array) {
    std::vector<T> values;
    ArrayIndexer<char const, ndim> const indexer{nullptr, detail::to_indices<std::int64_t, ndim>(array.get_shape())};
    for (std::int64_t i = 0; i < array.get_size(); ++i) values.push_back(array(indexer.get_indices(i)));
    return values;
  }
  static void add_sums(std::vector<T>& values, Shape const& shape) {
    ArrayIndexer<char const, ndim> const indexer{nullptr, detail::to_indices<std::int64_t, ndim>(shape)};
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto const indices = indexer.get_indices(static_cast<std::int64_t>(i));
      values[i] =
          static_cast<T>(values[i] + value<T>(std::accumulate(indices.begin(), indices.end(), std::int64_t{0})));
    }
  }

  /// Moves an array to a device, runs kernels, writes an element and moves the array back. Covers blocking and
  /// asynchronous moves, and kernels in `stream` and in the default stream.
  static void moves_and_computes(StreamHandle const& stream) {
    Array array = counted();
    std::vector<T> expected = contents(array);
    for (bool const async : {false, true}) {
      array.move_memory(kDLCUDA, as_intptr(stream), 0, -1, async);
      ASSERT_TRUE(array.get_on_device());
      ASSERT_EQ(array.get_dlpack_device(), (std::pair<DLDeviceType, std::int32_t>(kDLExtDev, 0)));
      add_index_tuple(array, as_intptr(stream));
      add_sums(expected, array.get_shape());
      add_index_tuple(array);
      add_sums(expected, array.get_shape());
      ASSERT_EQ(elements(array), expected);
      array.write(Shape{}, value<T>(1));
      expected[0] = value<T>(1);
      array.move_memory(kDLCPU, 0, 0, -1, async);
      ASSERT_FALSE(array.get_on_device());
      ASSERT_EQ(elements(array), expected);
    }
  }

  static void exports_and_versions() {
    Array array = counted(1);
    std::vector<T> const before = contents(array);
    array.move_memory(kDLCUDA, 0, 1);
    DLPackTensor const kept = array.get_dlpack_tensor(true);
    ASSERT_EQ(kept.tensor().device.device_type, kDLExtDev);
    ASSERT_EQ(kept.tensor().device.device_id, 1);
    ASSERT_EQ(kept.tensor().ndim, ndim);
    array.enter(7);
    ASSERT_THROW(array.fill(value<T>(2)), LockError);
    array.fill(value<T>(2), 7);
    array.exit();
    add_index_tuple(array);
    ASSERT_NE(kept.tensor().data, array.ptr());
    std::vector<T> expected(before.size(), value<T>(2));
    add_sums(expected, array.get_shape());
    ASSERT_EQ(elements(array), expected);
  }

  static void copies_and_resizes() {
    Array array = counted();
    array.move_memory(kDLCUDA, 0, 0);
    Array copy(array);
    ASSERT_TRUE(copy.get_on_device());
    array.fill(value<T>(3));
    std::vector<T> expected = elements(copy);
    Shape larger = copy.get_shape();
    larger[0] += 1;
    copy.resize(larger);
    expected.resize(static_cast<std::size_t>(copy.get_size()), T());
    ASSERT_EQ(elements(copy), expected);
    copy.exchange(array);
    ASSERT_EQ(elements(array), expected);
    ASSERT_EQ(copy(Shape{}), value<T>(3));
  }
};

template <class Run>
void for_each_array(Run const& run) {
  for_each_instance([&]<class A>(std::type_identity<A>) {
    SCOPED_TRACE(std::string(dtype_of<typename A::value_type>().name_view()) + ", rank " + std::to_string(A::NDIM));
    run(std::type_identity<DeviceProgram<A>>());
  });
}

using DeviceTypesTest = DeviceArrayTest;

TEST_F(DeviceTypesTest, MovesAndComputes) {
  int instances = 0;
  StreamHandle const stream = create_stream_handle(get_primary_context(0));
  for_each_array([&]<class P>(std::type_identity<P>) {
    ++instances;
    P::moves_and_computes(stream);
  });
  EXPECT_EQ(instances, tested_instances);
}

TEST_F(DeviceTypesTest, ExportHasSimulatedDeviceAndWriteTakesNewMemory) {
  for_each_array([]<class P>(std::type_identity<P>) { P::exports_and_versions(); });
}

TEST_F(DeviceTypesTest, CopiesAndResizes) {
  for_each_array([]<class P>(std::type_identity<P>) { P::copies_and_resizes(); });
}

}  // namespace
}  // namespace memarray::test
