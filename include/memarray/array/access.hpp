#pragma once

#include <memarray/array/mem_array.hpp>
#include <memarray/base/array_indexer.hpp>
#include <memarray/detail/state/access_mode.hpp>

#include <cstdint>

namespace memarray {

namespace detail {

/// An array and how a kernel or a lease uses it. Keeps the array's state alive; the launch takes the lock.
template <class T, int ndim, AccessMode mode>
struct ArrayAccess {
  static constexpr AccessMode kind = mode;
  using Element = T;
  ArrayStatePtr state;
  std::int64_t lock_id;
};

}  // namespace detail

/// Names an array of which a kernel reads any element, through an `ArrayIndexer<T const, ndim>`. `lock_id`: the id of
/// the caller's write lease, or −1.
template <class T, int ndim>
[[nodiscard]] auto read(MemArray<T, ndim> const& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::AccessMode::read>;
  return Access{detail::ArrayStatePtr::share(&array.state()), lock_id};
}

/// Names an array of which a kernel may change any element, through an `ArrayIndexer<T, ndim>`. If views have escaped,
/// the old contents are copied first, which is reported. `lock_id`: the id of the caller's write lease, or −1.
template <class T, int ndim>
[[nodiscard]] auto write(MemArray<T, ndim>& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::AccessMode::write>;
  return Access{detail::ArrayStatePtr::share(&array.state()), lock_id};
}

/// Names an array of which a kernel sets every element, through an `ArrayIndexer<T, ndim>`. The old contents are
/// dropped: if views have escaped, the kernel writes fresh memory without a copy. The array has the launch's shape.
/// `lock_id`: the id of the caller's write lease, or −1.
template <class T, int ndim>
[[nodiscard]] auto overwrite(MemArray<T, ndim>& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::AccessMode::overwrite>;
  return Access{detail::ArrayStatePtr::share(&array.state()), lock_id};
}

/// Names an array of which a kernel computes each element from its old value, through a `T&`. If views have escaped, it
/// reads the old memory and writes fresh memory in one pass, without a copy. The array has the launch's shape.
/// `lock_id`: the id of the caller's write lease, or −1.
template <class T, int ndim>
[[nodiscard]] auto update(MemArray<T, ndim>& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::AccessMode::update>;
  return Access{detail::ArrayStatePtr::share(&array.state()), lock_id};
}

}  // namespace memarray
