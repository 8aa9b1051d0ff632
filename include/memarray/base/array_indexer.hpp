#pragma once

#include <memarray/base/config.hpp>

#include <cuda/std/array>

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memarray {

namespace detail {

template <class A, int ndim>
concept IndexList = requires(A const& list, std::size_t i) {
  { list[i] } -> std::convertible_to<std::int64_t>;
  requires std::integral<std::remove_cvref_t<decltype(list[i])>>;
  requires std::tuple_size<A>::value == static_cast<std::size_t>(ndim);
};

template <class IndexT, int ndim>
using IndexArray = cuda::std::array<IndexT, static_cast<std::size_t>(ndim)>;

#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // host code passes std::array, whose operator[] is host-only
#endif
template <class IndexT, int ndim, class A>
[[nodiscard]] MEMARRAY_HD constexpr IndexArray<IndexT, ndim> to_indices(A const& list) {
  IndexArray<IndexT, ndim> indices{};
  for (std::size_t d = 0; d < indices.size(); ++d) indices[d] = static_cast<IndexT>(list[d]);
  return indices;
}

}  // namespace detail

/// Index arithmetic of a dense, C-ordered array, for kernels. Pass it by value. It owns nothing and checks no lock;
/// debug builds assert bounds. Launches use a 32-bit `IndexT` where the size allows.
template <class T, int ndim, class IndexT = std::int64_t>
struct ArrayIndexer {
  static_assert(ndim >= 1, "an ArrayIndexer has at least one dimension");
  static_assert(std::signed_integral<IndexT>, "indices are signed integers");

  using Indices = detail::IndexArray<IndexT, ndim>;

  T* pointer;
  Indices extents;

  /// Returns the linear index, in elements.
  [[nodiscard]] MEMARRAY_HD constexpr IndexT operator()(Indices const& indices) const {
    IndexT linear = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      assert(indices[d] >= 0 && indices[d] < extents[d]);
      linear = linear * extents[d] + indices[d];
    }
    return linear;
  }
  template <class A>
    requires(detail::IndexList<A, ndim> && !std::same_as<A, Indices>)
  [[nodiscard]] MEMARRAY_HD constexpr IndexT operator()(A const& indices) const {
    return (*this)(detail::to_indices<IndexT, ndim>(indices));
  }

  [[nodiscard]] MEMARRAY_HD constexpr T& operator[](Indices const& indices) const { return pointer[(*this)(indices)]; }
  template <class A>
    requires(detail::IndexList<A, ndim> && !std::same_as<A, Indices>)
  [[nodiscard]] MEMARRAY_HD constexpr T& operator[](A const& indices) const {
    return pointer[(*this)(indices)];
  }

  /// Returns the element at one index.
  template <std::integral I>
    requires(ndim == 1)
  [[nodiscard]] MEMARRAY_HD constexpr T& operator[](I index) const {
    assert(index >= 0 && static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(extents[0]));
    return pointer[index];
  }

  /// Inverts `operator()`; 32-bit numbers take a third of the time.
  [[nodiscard]] MEMARRAY_HD constexpr Indices get_indices(IndexT linear) const {
    assert(linear >= 0 && linear < size());
    Indices indices{};
    if (static_cast<std::uint64_t>(linear) <= UINT32_MAX && fits_32_bits()) {
      auto rest = static_cast<std::uint32_t>(linear);
      for (std::size_t d = rank - 1; d > 0; --d) {
        auto const extent = static_cast<std::uint32_t>(extents[d]);
        indices[d] = static_cast<IndexT>(rest % extent);
        rest /= extent;
      }
      indices[0] = static_cast<IndexT>(rest);
    } else {
      for (std::size_t d = rank - 1; d > 0; --d) {
        indices[d] = linear % extents[d];
        linear /= extents[d];
      }
      indices[0] = linear;
    }
    return indices;
  }

  /// Returns the address of an element, or one past the last.
  [[nodiscard]] MEMARRAY_HD constexpr T* get(IndexT linear) const {
    assert(linear >= 0 && linear <= size());
    return pointer + linear;
  }

  [[nodiscard]] MEMARRAY_HD constexpr IndexT size() const {
    IndexT product = 1;
    for (std::size_t d = 0; d < rank; ++d) product *= extents[d];
    return product;
  }

  [[nodiscard]] MEMARRAY_HD constexpr Indices const& shape() const { return extents; }

 private:
  static constexpr auto rank = static_cast<std::size_t>(ndim);

  [[nodiscard]] MEMARRAY_HD constexpr bool fits_32_bits() const {
    for (std::size_t d = 1; d < rank; ++d)
      if (static_cast<std::uint64_t>(extents[d]) > UINT32_MAX) return false;
    return true;
  }
};

static_assert(std::is_aggregate_v<ArrayIndexer<double, 3>>);
static_assert(std::is_trivially_copyable_v<ArrayIndexer<double const, 3, std::int32_t>>);

}  // namespace memarray
