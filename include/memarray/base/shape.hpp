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
