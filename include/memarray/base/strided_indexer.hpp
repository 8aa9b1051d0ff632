#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memarray {

/// Like `ArrayIndexer`, for views. Strides are in elements, and may be negative or 0.
template <class T, int ndim>
struct StridedIndexer {
  static_assert(ndim >= 1, "a StridedIndexer has at least one dimension");

  using Indices = detail::IndexArray<std::int64_t, ndim>;

  T* pointer;  ///< the element at indices 0
  Indices extents;
  Indices strides;

  /// Returns an element's distance from `pointer`, in elements.
  template <class A>
    requires(detail::IndexList<A, ndim>)
  [[nodiscard]] MEMARRAY_HD constexpr std::int64_t operator()(A const& indices) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(ndim); ++d) {
      assert(indices[d] >= 0 && indices[d] < extents[d]);
      offset += strides[d] * indices[d];
    }
    return offset;
  }
  [[nodiscard]] MEMARRAY_HD constexpr T& operator[](Indices const& indices) const { return pointer[(*this)(indices)]; }
  template <class A>
    requires(detail::IndexList<A, ndim> && !std::same_as<A, Indices>)
  [[nodiscard]] MEMARRAY_HD constexpr T& operator[](A const& indices) const {
    return pointer[(*this)(indices)];
  }
  template <std::integral I>
    requires(ndim == 1)
  [[nodiscard]] MEMARRAY_HD constexpr T& operator[](I index) const {
    assert(index >= 0 && static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(extents[0]));
    return pointer[strides[0] * static_cast<std::int64_t>(index)];
  }

  [[nodiscard]] MEMARRAY_HD constexpr std::int64_t size() const {
    std::int64_t product = 1;
    for (std::size_t d = 0; d < static_cast<std::size_t>(ndim); ++d) product *= extents[d];
    return product;
  }
  [[nodiscard]] MEMARRAY_HD constexpr Indices const& shape() const { return extents; }
};

static_assert(std::is_trivially_copyable_v<StridedIndexer<double, 2>>);

}  // namespace memarray
