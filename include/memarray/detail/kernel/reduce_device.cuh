#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/kernel/held_launch.hpp>
#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/launch/reduce_kernel.hpp>
#include <memarray/detail/launch/unravel.hpp>

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_reduce.cuh>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace memarray::detail {
inline namespace MEMARRAY_LAUNCH_NAMESPACE {

/// The functor's value at a linear position.
template <class T, class Kernel>
struct DeviceValue;
template <class T, class IndexT, int ndim, class F, class... Arguments>
struct DeviceValue<T, HostKernel<IndexT, ndim, F, Arguments...>> {
  Unravel<std::uint64_t, ndim> unravel;
  IndexArray<IndexT, ndim> begin;
  bool is_whole;
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

/// Reduces in the run's stream, to device memory. Throws `CudaError`, `OutOfMemoryError`.
template <class T, class Op, class Kernel>
void reduce_in(DeviceRun& run, ReduceKernel<T, Op, Kernel> const& reduction, bool is_whole, T* result) {
  Kernel const& kernel = reduction.kernel;
  constexpr int ndim = Kernel::ndim;
  using IndexT = typename Kernel::Index;
  auto box = kernel.box;
  std::int64_t const size = box.size();
  // `Unravel` cannot divide by 0.
  if (size == 0)
    for (std::int64_t& extent : box.extents) extent = 1;
  DeviceValue<T, Kernel> const value{Unravel<std::uint64_t, ndim>(to_indices<std::int64_t, ndim>(box.extents)),
                                     to_indices<IndexT, ndim>(box.begin), is_whole, kernel.f, kernel.arguments};
  thrust::counting_iterator<std::int64_t> const positions(0);
  run_cub(
      run,
      [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceReduce::TransformReduce(scratch, bytes, positions, result, size, reduction.op, value,
                                                  reduction.init, *run.queue().stream);
      },
      "reducing on a device");
}

template <class T, class Op, class Kernel>
void reduce_on_device(ReduceKernel<T, Op, Kernel> const& reduction, HeldLaunch& launch, T* result) {
  DeviceRun run(launch.memory(), launch.queue(), "reducing on a device");
  std::byte* const place = run.scratch(sizeof(T));
  reduce_in(run, reduction, launch.is_whole(), reinterpret_cast<T*>(place));
  run.read_back({{result, place, sizeof(T)}});
}

template <class T, class Op, class Kernel>
void reduce_on_device_into(ReduceKernel<T, Op, Kernel> const& reduction, HeldLaunch& launch, T* result) {
  DeviceRun run(launch.memory(), launch.queue(), "reducing on a device");
  reduce_in(run, reduction, launch.is_whole(), result);
}

}  // namespace MEMARRAY_LAUNCH_NAMESPACE
}  // namespace memarray::detail
