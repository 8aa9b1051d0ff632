#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/strided_indexer.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memarray::detail {

// Arguments of a functor. On the host, element `j` of a row that begins at `indices` is passed as `row(indices).at(j)`.
// On a device, `open` loads, `argument()` is passed, and `close()` stores.

/// An indexer or a bundle of indexers, for any element.
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

/// An element, in an array of the launch's rank. Under escaped views `source` differs from `target`; on the host, the
/// launch copies elements to `target` before the calls.
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

  /// In elements. Requires rank 2 or more.
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

  /// `position` is the element's offset if `is_whole`.
  template <class U, class Indices>
  MEMARRAY_HD OpenedElement<T> open(U position, Indices const& indices, bool is_whole) const {
    std::int64_t const offset = is_whole ? static_cast<std::int64_t>(position) : linear(indices);
    return {source[offset], target + offset};
  }
};

/// An element, in a view of the launch's rank.
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
