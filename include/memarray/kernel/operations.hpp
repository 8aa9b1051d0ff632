#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/base/add_wrapping.hpp>

#include <limits>

namespace memarray {
namespace detail {

template <class T>
[[nodiscard]] MEMARRAY_HD constexpr bool is_nan(T const& value) {
  if constexpr (std::numeric_limits<T>::has_quiet_NaN)
    return !(value <= value);  // NOLINT(misc-redundant-expression): NaN alone has no order with itself
  else
    return false;
}

}  // namespace detail

// Operations for reductions and scans, on host and device. Any associative and commutative functor of two values
// serves.

/// The sum of two values; integers wrap.
struct plus {
  template <class T>
  [[nodiscard]] MEMARRAY_HD constexpr T operator()(T const& left, T const& right) const {
    return detail::add_wrapping(left, right);
  }
};

/// The smaller value; NaN if either is, as in NumPy.
struct minimum {
  template <class T>
  [[nodiscard]] MEMARRAY_HD constexpr T operator()(T const& left, T const& right) const {
    return right < left || detail::is_nan(right) ? right : left;
  }
};

/// The larger value; NaN if either is.
struct maximum {
  template <class T>
  [[nodiscard]] MEMARRAY_HD constexpr T operator()(T const& left, T const& right) const {
    return left < right || detail::is_nan(right) ? right : left;
  }
};

/// True if both values are.
struct logical_and {
  template <class T>
  [[nodiscard]] MEMARRAY_HD constexpr T operator()(T const& left, T const& right) const {
    return static_cast<T>(left && right);
  }
};

/// True if a value is.
struct logical_or {
  template <class T>
  [[nodiscard]] MEMARRAY_HD constexpr T operator()(T const& left, T const& right) const {
    return static_cast<T>(left || right);
  }
};

}  // namespace memarray
