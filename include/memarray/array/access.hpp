#pragma once

#include <memarray/array/mem_array.hpp>
#include <memarray/base/array_indexer.hpp>
#include <memarray/detail/state/hold.hpp>

#include <cstdint>

namespace memarray {

namespace detail {

/// What one kernel does with one array.
template <class T, int ndim, State::Access access>
struct ArrayAccess {
  static constexpr State::Access kind = access;
  using Element = T;
  StatePtr state;
  std::int64_t lock_id;
};

}  // namespace detail

/// The kernel looks at any element of `array`: it gets an `ArrayIndexer<T const, ndim>`.
template <class T, int ndim>
[[nodiscard]] auto read(MemArray<T, ndim> const& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::State::Access::read>;
  return Access{detail::StatePtr::share(&array.state()), lock_id};
}

/// The kernel may change any element of `array`: it gets an `ArrayIndexer<T, ndim>`. Under kept views the old contents
/// are copied first, and reported.
template <class T, int ndim>
[[nodiscard]] auto write(MemArray<T, ndim>& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::State::Access::write>;
  return Access{detail::StatePtr::share(&array.state()), lock_id};
}

/// The kernel sets every element of `array`, whose old contents are given up: it gets an `ArrayIndexer<T, ndim>`. Under
/// kept views it writes fresh memory, and nothing is copied. The array's shape is the launch's.
template <class T, int ndim>
[[nodiscard]] auto overwrite(MemArray<T, ndim>& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::State::Access::overwrite>;
  return Access{detail::StatePtr::share(&array.state()), lock_id};
}

/// The kernel rewrites each element of `array` from that element's old value: it gets `T&`, its own. Under kept views
/// it reads the old memory and writes fresh memory in one pass, and nothing is copied. The array's shape is the
/// launch's.
template <class T, int ndim>
[[nodiscard]] auto update(MemArray<T, ndim>& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::State::Access::update>;
  return Access{detail::StatePtr::share(&array.state()), lock_id};
}

}  // namespace memarray
