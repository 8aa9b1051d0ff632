#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>

#include <cstdint>

namespace memarray::detail {

/// An array argument of a kernel's functor: it reaches any element.
template <class T, int ndim>
struct IndexerArgument {
  ArrayIndexer<T, ndim> indexer;

  /// On the host, `prepare` runs before the functor is called for an element; `argument` goes to the functor.
  MEMARRAY_HD void prepare(std::int64_t) const {}
  MEMARRAY_HD ArrayIndexer<T, ndim> argument(std::int64_t) const { return indexer; }

  /// The argument on a device: an object that exists for one call.
  struct Opened {
    ArrayIndexer<T, ndim> indexer;
    MEMARRAY_HD ArrayIndexer<T, ndim> argument() const { return indexer; }
    MEMARRAY_HD void close() const {}
  };
  template <class U>
  MEMARRAY_HD Opened open(U) const {
    return {indexer};
  }
};

/// The one element that a call is for. It comes from `source` and goes to `target`, which are equal unless the array
/// has escaped views.
template <class T, bool in_place>
struct ElementArgument {
  using Element = T;

  T const* source;
  T* target;

  MEMARRAY_HD void prepare(std::int64_t linear) const {
    if constexpr (!in_place) target[linear] = source[linear];
  }
  MEMARRAY_HD T& argument(std::int64_t linear) const { return target[linear]; }

  /// A copy in registers, which a device works on.
  struct Opened {
    T value;
    T* target;
    MEMARRAY_HD T& argument() { return value; }
    MEMARRAY_HD void close() const { *target = value; }
  };
  template <class U>
  MEMARRAY_HD Opened open(U linear) const {
    return {source[linear], target + linear};
  }
};

}  // namespace memarray::detail
