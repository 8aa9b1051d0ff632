#pragma once

/// @file
/// Opt-in, as it includes Thrust: iterators over a MemArray.

#include <memarray/array/mem_array.hpp>

#include <thrust/iterator/iterator_traits.h>

#include <utility>

namespace memarray {

/// Returns [first, last) of the current side, in linear order, like `MemArray::ptr`. The execution policy must fit
/// `get_on_device()`.
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
