#pragma once

#include <memarray/array/access.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/state/lease.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

namespace memarray {

namespace detail {

template <class T, int ndim, AccessMode mode>
[[nodiscard]] Acquisition to_request(ArrayAccess<T, ndim, mode> const& given) {
  static_assert(mode != AccessMode::update, "leases are read(a), write(a) or overwrite(a); update(a) is for kernels");
  if (given.lock_id != -1) throw ValueError("leases acquires locks: give it read(a) or write(a) without a lock id");
  return {*given.state, mode, std::nullopt, {}};
}

template <class T, int ndim, AccessMode mode>
[[nodiscard]] auto to_lease(ArrayAccess<T, ndim, mode> const&, Acquisition& acquired,
                            std::source_location const& where) {
  using Lease = std::conditional_t<mode == AccessMode::read, ReadLease<T, ndim>, WriteLease<T, ndim>>;
  return Lease(std::move(acquired), where);
}

/// A time-out with the caller's location, as no default argument can follow a pack.
struct LeaseTimeout {
  LeaseTimeout(std::source_location const& where = std::source_location::current()) : location(where) {}
  template <std::convertible_to<Timeout> T>
  LeaseTimeout(T const& limit, std::source_location const& where = std::source_location::current())
      : timeout(limit), location(where) {}
  Timeout timeout = no_wait;
  std::source_location location;
};

}  // namespace detail

/// Leases all arrays or none: `auto [a_lease, b_lease] = leases(timeout, read(a), write(b))`. `overwrite(b)` is a write
/// lease without the old contents. The order of arguments cannot cause deadlock. Throws `LockError` after `timeout`,
/// and `ValueError` for a lock id.
template <class... Access>
[[nodiscard]] auto leases(detail::LeaseTimeout const& timeout, Access const&... accesses) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    std::array acquired{detail::to_request(accesses)...};
    std::array<detail::Acquisition*, sizeof...(i)> in_order{&acquired[i]...};
    detail::acquire_all(in_order, timeout.timeout);
    return std::tuple{detail::to_lease(accesses, acquired[i], timeout.location)...};
  }(std::index_sequence_for<Access...>());
}

template <class T, int ndim, detail::AccessMode mode, class... Access>
[[nodiscard]] auto leases(detail::ArrayAccess<T, ndim, mode> const& first, Access const&... others) {
  return leases(detail::LeaseTimeout(), first, others...);
}

}  // namespace memarray
