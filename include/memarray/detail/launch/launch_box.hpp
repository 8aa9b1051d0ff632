#pragma once

#include <memarray/base/config.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// The indices of a launch: `extents[d]` of them from `begin[d]` on, in C order.
template <int ndim>
struct LaunchBox {
  std::int64_t begin[static_cast<std::size_t>(ndim)];
  std::int64_t extents[static_cast<std::size_t>(ndim)];

  [[nodiscard]] MEMARRAY_HD constexpr std::int64_t size() const noexcept {
    std::int64_t size = 1;
    for (int d = 0; d < ndim; ++d) size *= extents[d];
    return size;
  }
};

/// A borrowed box of any rank.
struct BoxView {
  int ndim;
  std::int64_t const* begin;
  std::int64_t const* extents;
};

/// A position in a box, as offsets from the box's begin.
template <int ndim>
struct BoxPosition {
  std::int64_t offsets[static_cast<std::size_t>(ndim)];

  /// Precondition: `linear` is below the box's size.
  constexpr BoxPosition(LaunchBox<ndim> const& box, std::int64_t linear) noexcept : offsets{} {
    for (int d = ndim - 1; d > 0 && linear != 0; --d) {
      offsets[d] = linear % box.extents[d];
      linear /= box.extents[d];
    }
    offsets[0] += linear;
  }
  /// Returns the positions left in the row.
  [[nodiscard]] constexpr std::int64_t left(LaunchBox<ndim> const& box) const noexcept {
    return box.extents[ndim - 1] - offsets[ndim - 1];
  }
  /// Precondition: `count` ≤ `left(box)`.
  constexpr void advance(LaunchBox<ndim> const& box, std::int64_t count) noexcept {
    offsets[ndim - 1] += count;
    carry(box, ndim - 1);
  }
  // Whole rows; require rank 2 or more.
  [[nodiscard]] constexpr std::int64_t rows_left(LaunchBox<ndim> const& box) const noexcept {
    return box.extents[ndim - 2] - offsets[ndim - 2];
  }
  /// Precondition: `rows` ≤ `rows_left(box)`.
  constexpr void advance_rows(LaunchBox<ndim> const& box, std::int64_t rows) noexcept {
    offsets[ndim - 2] += rows;
    carry(box, ndim - 2);
  }

 private:
  constexpr void carry(LaunchBox<ndim> const& box, int d) noexcept {
    for (; d > 0 && offsets[d] == box.extents[d]; --d) {
      offsets[d] = 0;
      ++offsets[d - 1];
    }
  }
};

}  // namespace memarray::detail
