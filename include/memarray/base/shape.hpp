#pragma once

#include <memarray/base/config.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace memarray {

/// An index or extent, made from any integer type but bool.
struct Index {
  std::int64_t value;

  template <class I>
    requires(std::integral<I> || (std::is_enum_v<I> && std::convertible_to<I, std::int64_t>)) &&
            (!std::same_as<I, bool>)
  constexpr Index(I index) noexcept : value(static_cast<std::int64_t>(index)) {}
  constexpr operator std::int64_t() const noexcept { return value; }
};

namespace detail {

using Extents = std::span<std::int64_t const>;

template <std::size_t ndim>
[[nodiscard]] constexpr std::array<std::int64_t, ndim> to_extents(Index const (&list)[ndim]) noexcept {
  std::array<std::int64_t, ndim> extents{};
  std::copy_n(list, ndim, extents.begin());
  return extents;
}

}  // namespace detail

/// Returns the number of elements. Throws `ValueError` for negative extents, `OverflowError` if the product of the
/// nonzero ones (a stride) exceeds 63 bits.
MEMARRAY_API std::int64_t checked_size(std::span<std::int64_t const> shape);

/// Returns `size * itemsize`. Throws `OverflowError` above 63 bits, `ValueError` for a negative size.
MEMARRAY_API std::size_t checked_bytes(std::int64_t size, std::size_t itemsize);

/// Sets row-major strides, in elements. Extents of 0 count as 1.
constexpr void c_strides(std::span<std::int64_t const> shape, std::span<std::int64_t> strides) noexcept {
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i] > 0 ? shape[i] : 1;
  }
}

/// Returns Python's form: "(4, 5)", "(4,)".
MEMARRAY_API std::string shape_text(std::span<std::int64_t const> shape);

}  // namespace memarray
