#pragma once

/// @file
/// Opt-in: iterators over a MemArray for Thrust. The only public header that includes Thrust.

#include <memarray/array/mem_array.hpp>

#include <thrust/iterator/iterator_traits.h>

#include <utility>

namespace memarray {

/// Returns [first, last) over the current side, in linear order, with the rules and errors of `MemArray::ptr`. Use an
/// execution policy that fits `get_on_device()`.
template <class T, int ndim>
[[nodiscard]] std::pair<T*, T*> thrust_range(MemArray<T, ndim>& array, std::int64_t lock_id = -1) {
  T* const first = array.ptr(lock_id);
  return {first, first + array.get_size()};
}
template <class T, int ndim>
[[nodiscard]] std::pair<T const*, T const*> thrust_range(MemArray<T, ndim> const& array, std::int64_t lock_id = -1) {
  T const* const first = array.ptr(lock_id);
  return {first, first + array.get_size()};
}

}  // namespace memarray
