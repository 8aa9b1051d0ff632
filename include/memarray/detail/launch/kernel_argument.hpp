#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>

#include <cstdint>

namespace memarray::detail {

/// An array as a kernel's functor gets it: any element of it.
template <class T, int ndim>
struct IndexerArgument {
  ArrayIndexer<T, ndim> indexer;

  /// On the host: before the functor is called for an element, and what it is called with.
  MEMARRAY_HD void prepare(std::int64_t) const {}
  MEMARRAY_HD ArrayIndexer<T, ndim> argument(std::int64_t) const { return indexer; }

  /// On a device: the same, as an object that lives as long as the call.
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

/// Only the element that the call is for. It comes from `source` and goes to `target`, which are one place unless views
/// were kept.
template <class T, bool in_place>
struct ElementArgument {
  using Element = T;

  T const* source;
  T* target;

  MEMARRAY_HD void prepare(std::int64_t linear) const {
    if constexpr (!in_place) target[linear] = source[linear];
  }
  MEMARRAY_HD T& argument(std::int64_t linear) const { return target[linear]; }

  /// A device works on a copy in registers.
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
