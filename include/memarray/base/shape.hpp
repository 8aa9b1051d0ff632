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

/// The number of elements of a shape; extents of 0 are fine. Negative extents are a `ValueError`. An
/// `OverflowError` if the extents other than 0 do not multiply within 64 bits, as strides could not
/// be told then.
MEMARRAY_API std::int64_t checked_size(std::span<std::int64_t const> shape);

/// `size * itemsize`, an `OverflowError` unless a signed 64-bit offset can reach every byte.
MEMARRAY_API std::size_t checked_bytes(std::int64_t size, std::size_t itemsize);

/// Strides, in elements, of a row-major array of that shape. Extents of 0 count as 1.
constexpr void c_strides(std::span<std::int64_t const> shape, std::span<std::int64_t> strides) noexcept {
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i] > 0 ? shape[i] : 1;
  }
}

/// "(4, 5)", "(4,)", as Python prints shapes.
MEMARRAY_API std::string shape_text(std::span<std::int64_t const> shape);

}  // namespace memarray
