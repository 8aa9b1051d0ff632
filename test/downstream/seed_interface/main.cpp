// Each function of the C++ interface, in each way of calling it, on every shipped dtype and rank.

#include <memarray/memarray.hpp>

#include <cuda/std/array>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "every_instance.hpp"

// Every member can be instantiated, also those without a call.
template class memarray::MemArray<std::int32_t, 1>;
template class memarray::MemArray<double, 3>;

namespace {

using memarray::test::value;

int failures = 0;
std::string instance;

void check(bool right, char const* what, int line) {
  if (right) return;
  ++failures;
  std::printf("%s, line %d: not so: %s\n", instance.c_str(), line, what);
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

template <class E, class Run>
bool throws(Run&& run) {
  try {
    run();
  } catch (E const&) {
    return true;
  }
  return false;
}

template <class A>
struct Program;

template <class T, int ndim>
struct Program<memarray::MemArray<T, ndim>> {
  using Array = memarray::MemArray<T, ndim>;
  using Ints = std::array<int, ndim>;
  using CudaInts = cuda::std::array<int, ndim>;
  static constexpr auto dimensions = std::make_index_sequence<ndim>();

  // 3 × 2 × 3 × 2 …, and its second element and its last.
  static constexpr Ints shape = [] {
    Ints result{};
    for (std::size_t d = 0; d < ndim; ++d) result[d] = d % 2 ? 2 : 3;
    return result;
  }();
  static constexpr Ints second = [] {
    Ints result{};
    result[ndim - 1] = 1;
    return result;
  }();
  static constexpr Ints last = [] {
    Ints result = shape;
    for (int& extent : result) --extent;
    return result;
  }();
  static CudaInts cuda_ints(Ints const& indices) {
    CudaInts result{};
    for (std::size_t d = 0; d < ndim; ++d) result[d] = indices[d];
    return result;
  }
  static std::int64_t size() {
    std::int64_t result = 1;
    for (int const extent : shape) result *= extent;
    return result;
  }

  static bool has_shape(Array const& array) {
    auto const& extents = array.get_shape();
    for (std::size_t d = 0; d < ndim; ++d)
      if (extents[d] != shape[d]) return false;
    return extents.size() == ndim && array.get_size() == size();
  }
  static bool is_all(Array const& array, T const& element) {
    for (std::int64_t i = 0; i < array.get_size(); ++i)
      if (array.ptr()[i] != element) return false;
    return true;
  }

  template <std::size_t... d>
  static void takes_braced_lists(std::index_sequence<d...>) {
    Array array({shape[d]...}, 0);
    CHECK(has_shape(array));
    array.write({second[d]...}, value<T>(3));
    CHECK(array({second[d]...}) == value<T>(3));
    array.enter(1);
    array.write({last[d]...}, value<T>(4), 1);
    CHECK(array({last[d]...}, 1) == value<T>(4));
    array.exit();
    array.resize({shape[d]...});
  }

  static void constructs_and_is_looked_at() {
    static_assert(Array::NDIM == ndim);
    static_assert(std::is_copy_constructible_v<Array> && std::is_copy_assignable_v<Array>);
    static_assert(std::is_nothrow_move_constructible_v<Array> && std::is_nothrow_move_assignable_v<Array>);
    static_assert(std::is_nothrow_swappable_v<Array> && noexcept(std::declval<Array&>().exit()));
    static_assert(std::is_same_v<T*, decltype(std::declval<Array&>().ptr())>);
    static_assert(std::is_same_v<T const*, decltype(std::declval<Array const&>().ptr())>);
    static_assert(std::is_same_v<std::int64_t, decltype(std::declval<Array const&>().get_size())>);
    static_assert(std::is_same_v<std::int64_t, decltype(std::declval<Array const&>().get_lock_id())>);
    Array const array(shape, 0);
    CHECK(has_shape(array) && is_all(array, T()));
    CHECK(array.get_device_id() == 0 && !array.get_on_device() && array.get_lock_id() == -1);
    Array const elsewhere(cuda_ints(shape), 1);
    CHECK(has_shape(elsewhere) && elsewhere.get_device_id() == 1 && !elsewhere.get_on_device());
    CHECK(array.get_dlpack_device() == std::pair<DLDeviceType, std::int32_t>(kDLCPU, 0));
  }

  static void reads_and_writes_elements() {
    Array array(shape, 0);
    array.write(second, value<T>(2));
    array.write(cuda_ints(last), value<T>(5));
    Array const& constant = array;
    CHECK(constant(second) == value<T>(2) && constant(cuda_ints(second)) == value<T>(2));
    CHECK(constant(last) == value<T>(5) && constant.ptr()[size() - 1] == value<T>(5));
    Ints outside = last;
    ++outside[0];
    CHECK(throws<memarray::IndexError>([&] { static_cast<void>(constant(outside)); }));
    CHECK(throws<memarray::IndexError>([&] { array.write(cuda_ints(outside), T()); }));
    array.ptr()[0] = value<T>(6);
    CHECK(constant(Ints{}) == value<T>(6));
  }

  static void copies_moves_and_swaps() {
    Array array(shape, 0);
    array.fill(value<T>(7));
    Array copy(array);
    copy.fill(value<T>(1));
    CHECK(has_shape(copy) && is_all(copy, value<T>(1)) && is_all(array, value<T>(7)));
    Array assigned(Ints{}, 0);
    assigned = array;
    CHECK(has_shape(assigned) && is_all(assigned, value<T>(7)) && assigned.ptr() != array.ptr());
    T const* const memory = std::as_const(array).ptr();
    Array moved(std::move(array));
    CHECK(std::as_const(moved).ptr() == memory);
    assigned = std::move(moved);
    CHECK(std::as_const(assigned).ptr() == memory);
    assigned.swap(copy);
    CHECK(std::as_const(copy).ptr() == memory && is_all(assigned, value<T>(1)));
    swap(assigned, copy);
    CHECK(std::as_const(assigned).ptr() == memory && is_all(copy, value<T>(1)));
  }

  static void is_locked_by_an_id() {
    Array array(shape, 0);
    array.throw_invalid_lock_access(-1);
    array.enter(3);
    CHECK(array.get_lock_id() == 3);
    array.throw_invalid_lock_access(3);
    for (std::int64_t const id : {-1, 4}) {
      CHECK(throws<memarray::LockError>([&] { array.throw_invalid_lock_access(id); }));
      CHECK(throws<memarray::LockError>([&] { static_cast<void>(array(second, id)); }));
      CHECK(throws<memarray::LockError>([&] { static_cast<void>(array(cuda_ints(second), id)); }));
      CHECK(throws<memarray::LockError>([&] { array.write(second, value<T>(1), id); }));
      CHECK(throws<memarray::LockError>([&] { array.write(cuda_ints(second), value<T>(1), id); }));
      CHECK(throws<memarray::LockError>([&] { static_cast<void>(array.ptr(id)); }));
      CHECK(throws<memarray::LockError>([&] { static_cast<void>(std::as_const(array).ptr(id)); }));
      CHECK(throws<memarray::LockError>([&] { static_cast<void>(array.get_indexer(id)); }));
      CHECK(throws<memarray::LockError>([&] { static_cast<void>(array.get_dlpack_tensor(true, id)); }));
    }
    CHECK(throws<memarray::LockError>([&] { array.enter(4); }));
    CHECK(throws<memarray::LockError>([&] { array.move_memory(kDLCPU, 0, 0, 3); }));
    CHECK(throws<memarray::LockError>([&] { add_index_tuple(array, std::int64_t{0}); }));
    array.write(second, value<T>(2), 3);
    CHECK(array(second, 3) == value<T>(2) && array(cuda_ints(second), 3) == value<T>(2));
    CHECK(std::as_const(array).ptr(3)[1] == value<T>(2) && array.ptr(3) == std::as_const(array).ptr(3));
    array.exit();
    CHECK(array.get_lock_id() == -1 && array(second) == value<T>(2));
  }

  static void moves_between_devices() {
    Array array(shape, 0);
    array.fill(value<T>(3));
    array.move_memory(kDLCPU, 0, 0);
    array.move_memory(kDLCPU, 0, 0, -1);
    array.move_memory(kDLCPU, 0, 0, -1, false);
    CHECK(!array.get_on_device() && is_all(array, value<T>(3)));
    to_cuda(array, [&] { array.move_memory(kDLCUDA, 0, 0); });
    to_cuda(array, [&] { array.move_memory(kDLCUDA, 0, 0, -1); });
    to_cuda(array, [&] { array.move_memory(kDLCUDA, 0, 0, -1, false); });
    CHECK(throws<memarray::ValueError>([&] { array.move_memory(kDLVulkan, 0, 0); }));
  }
  /// Without a device it says so and nothing has changed.
  template <class Move>
  static void to_cuda(Array& array, Move const& move) {
    bool const refused = throws<memarray::CudaError>(move);
    CHECK(refused != array.get_on_device());
    CHECK(array.get_dlpack_device().first == (refused ? kDLCPU : kDLCUDA));
    array.move_memory(kDLCPU, 0, 0);
    CHECK(is_all(array, value<T>(3)));
  }

  static void is_exported() {
    Array array(shape, 0);
    array.write(second, value<T>(2));
    for (bool const versioned : {false, true}) {
      array.enter(5);
      memarray::DLPackTensor const exported = array.get_dlpack_tensor(versioned, 5);
      CHECK(exported.is_versioned() == versioned);
      is_described(array, exported.tensor());
      static_cast<T*>(exported.tensor().data)[0] = value<T>(versioned ? 6 : 7);
      CHECK(array(Ints{}, 5) == value<T>(versioned ? 6 : 7));
      array.exit();
    }
    memarray::DLPackTensor const looks = array.get_dlpack_tensor(true, -1);
    CHECK((looks.flags() & DLPACK_FLAG_BITMASK_READ_ONLY) != 0);
    is_described(array, looks.tensor());
  }
  static void is_described(Array const& array, DLTensor const& tensor) {
    CHECK(tensor.ndim == ndim && tensor.device.device_type == kDLCPU && tensor.dtype.lanes == 1);
    CHECK(tensor.dtype.bits == 8 * sizeof(T) && tensor.dtype.code == memarray::dtype_of<T>().dl.code);
    std::int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; --d) {
      CHECK(tensor.shape[d] == array.get_shape()[static_cast<std::size_t>(d)] && tensor.strides[d] == stride);
      stride *= tensor.shape[d];
    }
    CHECK(static_cast<T const*>(tensor.data)[1] == value<T>(2));
  }

  static void indexes_and_adds_indices() {
    Array array(shape, 0);
    typename Array::ArrayIndexer const indexer = array.get_indexer();
    CHECK(indexer.size() == size() && indexer.get(0) == array.ptr());
    for (std::int64_t i = 0; i < indexer.size(); ++i) {
      CHECK(indexer(indexer.get_indices(i)) == i);
      array.write(indexer.get_indices(i), value<T>(2));
    }
    add_index_tuple(array, std::int64_t{0});
    add_index_tuple(array);
    auto const looks = std::as_const(array).get_indexer();
    for (std::int64_t i = 0; i < array.get_size(); ++i) {
      std::int64_t sum = 0;
      for (std::int64_t const index : looks.get_indices(i)) sum += index;
      T const once = static_cast<T>(value<T>(2) + value<T>(sum));
      CHECK(*looks.get(i) == static_cast<T>(once + value<T>(sum)));
      CHECK(array(looks.get_indices(i)) == *looks.get(looks(looks.get_indices(i))));
    }
  }

  static void run() {
    constructs_and_is_looked_at();
    takes_braced_lists(dimensions);
    reads_and_writes_elements();
    copies_moves_and_swaps();
    is_locked_by_an_id();
    moves_between_devices();
    is_exported();
    indexes_and_adds_indices();
  }
};

}  // namespace

int main() {
  int instances = 0;
  memarray::test::for_each_instance([&]<class A>(std::type_identity<A>) {
    ++instances;
    instance =
        std::string(memarray::dtype_of<typename A::value_type>().name_view()) + ", rank " + std::to_string(A::NDIM);
    try {
      Program<A>::run();
    } catch (std::exception const& error) {
      ++failures;
      std::printf("%s: %s\n", instance.c_str(), error.what());
    }
  });
  std::printf("%d instances, %d failures\n", instances, failures);
  return failures == 0 && instances == memarray::test::tested_instances ? 0 : 1;
}
