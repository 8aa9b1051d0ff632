#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/shape.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memarray {

/// The indices from `begin` up to, but not including, `end` in each dimension.
template <std::size_t ndim>
struct Range {
  std::array<std::int64_t, ndim> begin;
  std::array<std::int64_t, ndim> end;

  /// Returns the extents: 0 if `end` is before `begin`; at most the largest integer.
  [[nodiscard]] constexpr std::array<std::int64_t, ndim> shape() const noexcept {
    std::array<std::int64_t, ndim> shape{};
    for (std::size_t d = 0; d < ndim; ++d) {
      bool const is_empty = end[d] <= begin[d];
      if (!is_empty && __builtin_sub_overflow(end[d], begin[d], &shape[d]))
        shape[d] = std::numeric_limits<std::int64_t>::max();
    }
    return shape;
  }
  friend constexpr bool operator==(Range const&, Range const&) = default;
};

/// Returns a range from two lists or shapes: `range({1, 1}, {n - 1, m - 1})`.
template <std::size_t ndim, std::size_t other>
[[nodiscard]] constexpr Range<ndim> range(std::array<std::int64_t, ndim> const& begin,
                                          std::array<std::int64_t, other> const& end) noexcept {
  static_assert(ndim == other, "the begin and the end of a range have the same rank");
  return {begin, end};
}
template <std::size_t ndim, std::size_t other>
[[nodiscard]] constexpr Range<ndim> range(Index const (&begin)[ndim], Index const (&end)[other]) noexcept {
  return range(detail::to_extents(begin), detail::to_extents(end));
}
template <std::size_t ndim, std::size_t other>
[[nodiscard]] constexpr Range<ndim> range(Index const (&begin)[ndim],
                                          std::array<std::int64_t, other> const& end) noexcept {
  return range(detail::to_extents(begin), end);
}
template <std::size_t ndim, std::size_t other>
[[nodiscard]] constexpr Range<ndim> range(std::array<std::int64_t, ndim> const& begin,
                                          Index const (&end)[other]) noexcept {
  return range(begin, detail::to_extents(end));
}
/// Returns a one-dimensional range.
[[nodiscard]] constexpr Range<1> range(Index begin, Index end) noexcept { return {{begin}, {end}}; }

/// Returns the indices of `shape` that are at least `width` away from each border; none if the shape is too small.
template <std::size_t ndim>
[[nodiscard]] constexpr Range<ndim> interior(std::array<std::int64_t, ndim> const& shape, Index width = 1) noexcept {
  std::int64_t const margin = width;
  Range<ndim> result{};
  for (std::size_t d = 0; d < ndim; ++d) {
    result.begin[d] = margin;
    if (__builtin_sub_overflow(shape[d], margin, &result.end[d]))
      result.end[d] = std::numeric_limits<std::int64_t>::max();
  }
  return result;
}
template <std::size_t ndim>
[[nodiscard]] constexpr Range<ndim> interior(Index const (&shape)[ndim], Index width = 1) noexcept {
  return interior(detail::to_extents(shape), width);
}

}  // namespace memarray
