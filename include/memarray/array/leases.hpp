#pragma once

#include <memarray/array/access.hpp>
#include <memarray/array/lease.hpp>

#include <array>
#include <source_location>
#include <tuple>

namespace memarray {

namespace detail {

template <class T, int ndim, State::Access access>
auto deferred_lease(ArrayAccess<T, ndim, access> const& given, LeaseOptions options) {
  auto array = MemArray<T, ndim>::share(given.state);
  if constexpr (access == State::Access::read) {
    return ReadLease<T, ndim>(typename ReadLease<T, ndim>::Deferred{}, array, options);
  } else {
    options.discard = access == State::Access::overwrite;
    return WriteLease<T, ndim>(typename WriteLease<T, ndim>::Deferred{}, array, options);
  }
}

/// Lets the caller's source location come after a pack: `LeaseTimeout` is made from a time-out where it is written.
struct LeaseTimeout {
  LeaseTimeout(Timeout limit = no_wait, std::source_location const& where = std::source_location::current())
      : timeout(limit), location(where) {}
  Timeout timeout;
  std::source_location location;
};

}  // namespace detail

/// Leases several arrays, or none: `auto [a_lease, b_lease] = leases(timeout, read(a), write(b))`, where
/// `overwrite(b)` is a write lease that gives up the old contents. Callers that want the same arrays in other orders do not
/// wait for each other for ever. Throws `LockError` when one cannot be had within `timeout`, counted over all.
template <class... Access>
[[nodiscard]] auto leases(detail::LeaseTimeout const& timeout, Access const&... accesses) {
  auto result = std::tuple(detail::deferred_lease(accesses, LeaseOptions{.timeout = timeout.timeout})...);
  auto const cores = std::apply([](auto&... lease) { return std::array{&lease.core()...}; }, result);
  detail::enter_all(cores, timeout.timeout, detail::trace_location(timeout.location));
  return result;
}

template <class T, int ndim, detail::State::Access access, class... Access>
[[nodiscard]] auto leases(detail::ArrayAccess<T, ndim, access> const& first, Access const&... others) {
  return leases(detail::LeaseTimeout(), first, others...);
}

}  // namespace memarray
