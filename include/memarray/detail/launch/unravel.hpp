#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace memarray::detail {

template <std::unsigned_integral U>
struct Twice;
template <>
struct Twice<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct Twice<std::uint64_t> {
  __extension__ using type = unsigned __int128;
};

/// Division by multiplication and shift: a device's own takes tens of instructions. Dividends must be below half of U's
/// range.
template <std::unsigned_integral U>
class Divisor {
 public:
  constexpr Divisor() noexcept = default;
  /// Precondition: `divisor` is between 1 and half of U's range.
  constexpr explicit Divisor(U divisor) noexcept {
    using Wide = typename Twice<U>::type;
    while ((Wide{1} << _shift) < divisor) ++_shift;
    _multiplier = static_cast<U>(((((Wide{1} << _shift) - divisor) << bits) / divisor) + 1);
  }

  [[nodiscard]] MEMARRAY_HD constexpr U quotient(U dividend) const noexcept {
    return static_cast<U>(high_half(dividend) + dividend) >> _shift;
  }

 private:
  static constexpr int bits = 8 * static_cast<int>(sizeof(U));

  [[nodiscard]] MEMARRAY_HD constexpr U high_half(U dividend) const noexcept {
    using Wide = typename Twice<U>::type;
    return static_cast<U>((static_cast<Wide>(dividend) * _multiplier) >> bits);
  }

  U _multiplier = 1;
  unsigned _shift = 0;
};

/// The map from a linear position to indices in C order, for sizes below half of U's range.
template <std::unsigned_integral U, int ndim>
class Unravel {
 public:
  /// Precondition: no extent is 0.
  constexpr explicit Unravel(IndexArray<std::int64_t, ndim> const& shape) noexcept {
    for (int d = 1; d < ndim; ++d) {
      _extents[d] = static_cast<U>(shape[static_cast<std::size_t>(d)]);
      _divisors[d] = Divisor<U>(_extents[d]);
    }
  }

  template <std::signed_integral IndexT>
  [[nodiscard]] MEMARRAY_HD constexpr IndexArray<IndexT, ndim> at(U linear) const noexcept {
    IndexArray<IndexT, ndim> indices{};
    for (int d = ndim - 1; d > 0; --d) {
      U const rest = _divisors[d].quotient(linear);
      indices[static_cast<std::size_t>(d)] = static_cast<IndexT>(linear - rest * _extents[d]);
      linear = rest;
    }
    indices[0] = static_cast<IndexT>(linear);
    return indices;
  }

  /// True if each aligned group of `count` elements lies in one row.
  [[nodiscard]] MEMARRAY_HD constexpr bool has_rows_of(int count) const noexcept {
    return ndim == 1 || _extents[ndim - 1] % static_cast<U>(count) == 0;
  }

 private:
  U _extents[static_cast<std::size_t>(ndim)] = {};
  Divisor<U> _divisors[static_cast<std::size_t>(ndim)] = {};
};

}  // namespace memarray::detail
