#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/strided_indexer.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memarray::detail {

// A kernel's arguments. On the host, `row(indices)` is the argument of a row that begins at `indices`, and `at(j)` of
// that is passed to the functor for the row's element `j`. On a device, `open` loads what one call needs, `argument()`
// passes it, and `close()` stores it.

/// An argument that reaches any element: an indexer, or a bundle of indexers.
template <class Indexer>
struct IndexerArgument {
  Indexer indexer;

  template <class Indices>
  [[nodiscard]] IndexerArgument const& row(Indices const&) const noexcept {
    return *this;
  }
  [[nodiscard]] Indexer at(std::int64_t) const noexcept { return indexer; }

  struct Opened {
    Indexer indexer;
    MEMARRAY_HD Indexer argument() const { return indexer; }
    MEMARRAY_HD void close() const {}
  };
  template <class U, class Indices>
  MEMARRAY_HD Opened open(U, Indices const&, bool) const {
    return {indexer};
  }
};

/// A copy of an element in a device's registers.
template <class T>
struct OpenedElement {
  std::remove_const_t<T> value;
  T* target;
  MEMARRAY_HD T& argument() { return value; }
  MEMARRAY_HD void close() const {
    if constexpr (!std::is_const_v<T>) *target = value;
  }
};

/// The element of one call, of an array of the launch's rank. `source` differs from `target` if the array has escaped
/// views. On the host the launch copies elements to `target` before the calls.
template <class T, int ndim>
struct ElementArgument {
  using Element = T;

  T const* source;
  T* target;
  std::int64_t strides[static_cast<std::size_t>(ndim)];  ///< in elements; the last is 1

  template <class Indices>
  [[nodiscard]] MEMARRAY_HD std::int64_t linear(Indices const& indices) const noexcept {
    std::int64_t linear = 0;
    for (int d = 0; d < ndim; ++d) linear += strides[d] * indices[static_cast<std::size_t>(d)];
    return linear;
  }

  /// Returns the distance of rows in elements. Requires rank 2 or more.
  [[nodiscard]] std::int64_t row_stride() const noexcept { return strides[ndim - 2]; }
  struct Row {
    T* first;
    template <class Offset>
    [[nodiscard]] T& at(Offset offset) const noexcept {
      return first[offset];
    }
  };
  template <class Indices>
  [[nodiscard]] Row row(Indices const& indices) const noexcept {
    return {target + linear(indices)};
  }

  /// `position` is the element's if the launch visits the whole array.
  template <class U, class Indices>
  MEMARRAY_HD OpenedElement<T> open(U position, Indices const& indices, bool is_whole) const {
    std::int64_t const offset = is_whole ? static_cast<std::int64_t>(position) : linear(indices);
    return {source[offset], target + offset};
  }
};

/// The element of one call, of a view of the launch's rank.
template <class T, int ndim>
struct StridedElementArgument {
  StridedIndexer<T, ndim> indexer;

  struct Row {
    T* first;
    std::int64_t stride;
    template <class Offset>
    [[nodiscard]] T& at(Offset offset) const noexcept {
      return first[offset * stride];
    }
  };
  template <class Indices>
  [[nodiscard]] Row row(Indices const& indices) const noexcept {
    return {indexer.pointer + indexer(indices), indexer.strides[static_cast<std::size_t>(ndim - 1)]};
  }

  template <class U, class Indices>
  MEMARRAY_HD OpenedElement<T> open(U, Indices const& indices, bool) const {
    T* const target = indexer.pointer + indexer(indices);
    return {*target, target};
  }
};

}  // namespace memarray::detail
