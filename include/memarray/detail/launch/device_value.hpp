#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/detail/launch/host_loop.hpp>
#include <memarray/detail/launch/kernel_argument.hpp>
#include <memarray/detail/launch/pack.hpp>
#include <memarray/detail/launch/unravel.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace memarray::detail {

/// The value that a kernel's functor returns at a linear position, for reductions on devices. Tests call it on the
/// host.
template <class T, class Kernel>
struct DeviceValue;
template <class T, class IndexT, int ndim, class F, class... Arguments>
struct DeviceValue<T, HostKernel<IndexT, ndim, F, Arguments...>> {
  Unravel<std::uint64_t, ndim> unravel;
  IndexArray<IndexT, ndim> begin;
  bool is_whole;  ///< a linear position is an element's offset
  F f;
  Pack<Arguments...> arguments;

  MEMARRAY_HD T operator()(std::int64_t position) const {
    return value(static_cast<std::uint64_t>(position), std::index_sequence_for<Arguments...>());
  }

 private:
  template <std::size_t... a>
  MEMARRAY_HD T value(std::uint64_t position, std::index_sequence<a...>) const {
    IndexArray<IndexT, ndim> indices = unravel.template at<IndexT>(position);
    for (std::size_t d = 0; d < indices.size(); ++d) indices[d] += begin[d];
    return call(indices, get<a>(arguments).open(position, indices, is_whole)...);
  }
  template <class... Opened>
  MEMARRAY_HD T call(IndexArray<IndexT, ndim> const& indices, Opened... opened) const {
    F own = f;
    T const result = static_cast<T>(own(indices, opened.argument()...));
    (opened.close(), ...);
    return result;
  }
};

/// Returns the values of a kernel, whose box may be empty. `is_whole`: its `ElementArgument`s visit whole arrays.
template <class T, class IndexT, int ndim, class F, class... Arguments>
[[nodiscard]] auto device_value(HostKernel<IndexT, ndim, F, Arguments...> const& kernel, bool is_whole) {
  auto box = kernel.box;
  // `Unravel` cannot divide by 0.
  if (box.size() == 0)
    for (std::int64_t& extent : box.extents) extent = 1;
  return DeviceValue<T, HostKernel<IndexT, ndim, F, Arguments...>>{
      Unravel<std::uint64_t, ndim>(to_indices<std::int64_t, ndim>(box.extents)), to_indices<IndexT, ndim>(box.begin),
      is_whole, kernel.f, kernel.arguments};
}

}  // namespace memarray::detail
