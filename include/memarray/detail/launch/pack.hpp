#pragma once

#include <memarray/base/config.hpp>

#include <cstddef>
#include <utility>

namespace memarray::detail {

template <std::size_t i, class T>
struct PackElement {
  T value;
};
template <class Sequence, class... T>
struct PackOf;
template <std::size_t... i, class... T>
struct PackOf<std::index_sequence<i...>, T...> : PackElement<i, T>... {};

/// A tuple for kernels: an aggregate that compiles faster than `std::tuple`, and on devices.
template <class... T>
using Pack = PackOf<std::index_sequence_for<T...>, T...>;

template <std::size_t i, class T>
[[nodiscard]] MEMARRAY_HD constexpr T& get(PackElement<i, T>& element) noexcept {
  return element.value;
}
template <std::size_t i, class T>
[[nodiscard]] MEMARRAY_HD constexpr T const& get(PackElement<i, T> const& element) noexcept {
  return element.value;
}

}  // namespace memarray::detail
