#pragma once

#include <memarray/array/access.hpp>
#include <memarray/array/mem_array.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/float16.hpp>
#include <memarray/detail/kernel/held_arrays.hpp>
#include <memarray/detail/kernel/kernel_launch.hpp>
#include <memarray/detail/launch/key_sort.hpp>
#include <memarray/kernel/launch.hpp>

#include <concepts>
#include <type_traits>

namespace memarray {

namespace detail {

struct KeysAreNotOneDimensional;  // return type of deleted overloads

template <class K>
inline constexpr bool is_key =
    (std::is_arithmetic_v<K> && sizeof(K) <= 8) || std::same_as<K, float16> || std::same_as<K, bfloat16>;

template <class K>
[[nodiscard]] constexpr KeyKind kind_of_key() noexcept {
  if (std::same_as<K, bfloat16>) return KeyKind::bfloat16;
  if (std::floating_point<K> || std::same_as<K, float16>) return KeyKind::floating;
  return std::signed_integral<K> ? KeyKind::signed_integer : KeyKind::unsigned_integer;
}

/// Sorts the keys, `arrays.holds()[0]`, and with them the values, `[1]`. Throws `ValueError` if their numbers differ.
MEMARRAY_API void sort_held(HeldArrays& arrays, KeyKind kind);

}  // namespace detail

/// Sorts `keys` in ascending order, and with each key its value: the element or row of `values` at its position. Equal
/// keys keep their order. NaN comes last and −0.0 equals 0.0, as in NumPy.
///
/// Holds and updates both arrays. Needs memory for copies of them and 10 to 24 bytes a key, or more. On a device, sorts
/// in the stream (CUB) without waiting.
///
/// Throws like `for_each_index`, also `ValueError` (numbers of keys and values differ), and if memory is short
/// `std::bad_alloc` or `OutOfMemoryError`; the arrays are then as they were.
template <class K, class V, int ndim>
void sort_by_key(MemArray<K, 1>& keys, MemArray<V, ndim>& values, StreamOrLaunch const& on) {
  static_assert(detail::is_key<K>, "keys are integers or floating-point numbers of at most 64 bits");
  detail::KernelHold holds[2];
  detail::request_all(false, holds, update(keys), update(values));
  detail::HeldArrays arrays(holds, on, detail::HeldArrays::Extent::all);
  detail::sort_held(arrays, detail::kind_of_key<K>());
  arrays.commit();
}
// Common mistakes: compilers print the return type.
template <class K, int rank, class V, int ndim>
detail::KeysAreNotOneDimensional sort_by_key(MemArray<K, rank> const&, MemArray<V, ndim> const&,
                                             StreamOrLaunch const&) = delete;
template <class K, class V, int ndim>
detail::ArrayIsConst sort_by_key(MemArray<K, 1> const&, MemArray<V, ndim> const&, StreamOrLaunch const&) = delete;
template <class K, class V, int ndim>
detail::StreamIsMissing sort_by_key(MemArray<K, 1> const&, MemArray<V, ndim> const&) = delete;

}  // namespace memarray
