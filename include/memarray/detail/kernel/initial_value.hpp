#pragma once

#include <memarray/base/config.hpp>

#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>

namespace memarray::detail {

/// Throws `ValueError`.
[[noreturn]] MEMARRAY_API void throw_initial_value_changes(std::string const& value, bool is_signed, std::size_t bits);

/// The type in which `reduce` combines elements of type T: that of the initial value, or for integers a type that has
/// all values of the elements. A literal 0 is an `int`.
template <class T, class Value>
struct ReducedType {
  using type = Value;
};
template <std::integral T, std::integral Value>
  requires(!std::is_same_v<Value, bool> && std::numeric_limits<T>::digits > std::numeric_limits<Value>::digits)
struct ReducedType<T, Value> {
  using type = std::common_type_t<T, Value>;
};
template <class T, class Value>
using Reduced = typename ReducedType<T, Value>::type;

/// Converts an initial value. Throws `ValueError` if an integer changes; to bool it tests for non-zero.
template <class To, class From>
[[nodiscard]] To initial_value(From const& init) {
  auto const converted = static_cast<To>(init);
  if constexpr (std::is_integral_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    bool is_kept = static_cast<From>(converted) == init;
    if constexpr (std::is_signed_v<From> && !std::is_signed_v<To>) is_kept = is_kept && init >= 0;
    if constexpr (!std::is_signed_v<From> && std::is_signed_v<To>) is_kept = is_kept && converted >= 0;
    if (!is_kept) throw_initial_value_changes(std::to_string(init), std::is_signed_v<To>, 8 * sizeof(To));
  }
  return converted;
}

}  // namespace memarray::detail
