#pragma once

#include <memarray/array/access.hpp>
#include <memarray/state/lease.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <source_location>
#include <tuple>
#include <utility>

namespace memarray {

namespace detail {

template <class T, int ndim, ArrayState::Access access>
[[nodiscard]] Claim to_claim(ArrayAccess<T, ndim, access> const& given, std::size_t position) {
  static_assert(access != ArrayState::Access::update,
                "leases are read(a), write(a) or overwrite(a); update(a) is for kernels");
  return {given.state.get(), access, position};
}

template <class T, int ndim, ArrayState::Access access>
[[nodiscard]] auto to_lease(ArrayAccess<T, ndim, access> const&, Claim& claim, std::source_location const& where) {
  if constexpr (access == ArrayState::Access::read)
    return ReadLease<T, ndim>(claim, where);
  else
    return WriteLease<T, ndim>(claim, where);
}

/// A time-out and the source location of its conversion: a default argument cannot follow a parameter pack.
struct LeaseTimeout {
  LeaseTimeout(std::source_location const& where = std::source_location::current()) : location(where) {}
  template <std::convertible_to<Timeout> T>
  LeaseTimeout(T const& limit, std::source_location const& where = std::source_location::current())
      : timeout(limit), location(where) {}
  Timeout timeout = no_wait;
  std::source_location location;
};

}  // namespace detail

/// Leases several arrays, or none: `auto [a_lease, b_lease] = leases(timeout, read(a), write(b))`. `overwrite(b)` is a
/// write lease that drops the old contents. Calls that name the same arrays in different orders cannot deadlock. Throws
/// `LockError` if a lock is not free within `timeout`, counted over all arrays.
template <class... Access>
[[nodiscard]] auto leases(detail::LeaseTimeout const& timeout, Access const&... accesses) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    std::array claims{detail::to_claim(accesses, i)...};
    detail::take_all(claims, timeout.timeout);
    std::array<detail::Claim*, sizeof...(i)> in_order{};
    for (detail::Claim& claim : claims) in_order[claim.position] = &claim;
    return std::tuple{detail::to_lease(accesses, *in_order[i], timeout.location)...};
  }(std::index_sequence_for<Access...>());
}

template <class T, int ndim, detail::ArrayState::Access access, class... Access>
[[nodiscard]] auto leases(detail::ArrayAccess<T, ndim, access> const& first, Access const&... others) {
  return leases(detail::LeaseTimeout(), first, others...);
}

}  // namespace memarray
