#pragma once

#include <memarray/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace memarray {

namespace detail {

using Extents = std::span<std::int64_t const>;

}  // namespace detail

/// Returns the number of elements of a shape; extents may be 0. Throws `ValueError` for a negative extent. Throws
/// `OverflowError` if the product of the extents other than 0 exceeds 64 bits, as strides would then overflow.
MEMARRAY_API std::int64_t checked_size(std::span<std::int64_t const> shape);

/// Returns `size * itemsize`. Throws `OverflowError` unless a signed 64-bit offset can reach every byte, and
/// `ValueError` for a negative size.
MEMARRAY_API std::size_t checked_bytes(std::int64_t size, std::size_t itemsize);

/// Sets `strides`, in elements, to those of a row-major array of that shape. Extents of 0 count as 1.
constexpr void c_strides(std::span<std::int64_t const> shape, std::span<std::int64_t> strides) noexcept {
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i] > 0 ? shape[i] : 1;
  }
}

/// Returns a shape as Python prints it: "(4, 5)", "(4,)".
MEMARRAY_API std::string shape_text(std::span<std::int64_t const> shape);

}  // namespace memarray
