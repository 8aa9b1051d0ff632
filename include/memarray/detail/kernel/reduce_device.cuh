#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/kernel/held_launch.hpp>
#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/device_value.hpp>
#include <memarray/detail/launch/joined.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/launch/reduce_kernel.hpp>

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_reduce.cuh>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {
inline namespace MEMARRAY_LAUNCH_NAMESPACE {

/// Reduces in the run's stream, to device memory. Throws `CudaError`, `OutOfMemoryError`.
template <class T, class Op, class Kernel>
void reduce_in(DeviceRun& run, ReduceKernel<T, Op, Kernel> const& reduction, bool is_whole, T* result) {
  std::int64_t const size = reduction.kernel.box.size();
  auto const value = device_value<T>(reduction.kernel, is_whole);
  thrust::counting_iterator<std::int64_t> const positions(0);
  run_cub(
      run,
      [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceReduce::TransformReduce(scratch, bytes, positions, result, size, Joined<T, Op>{reduction.op},
                                                  value, reduction.init, *run.bound_stream().stream);
      },
      "reducing on a device");
}

template <class T, class Op, class Kernel>
void reduce_on_device(ReduceKernel<T, Op, Kernel> const& reduction, HeldLaunch& launch, T* result) {
  DeviceRun run(launch.memory(), launch.bound_stream(), "reducing on a device");
  std::byte* const place = run.scratch(sizeof(T));
  reduce_in(run, reduction, launch.is_whole(), reinterpret_cast<T*>(place));
  run.read_back({{result, place, sizeof(T)}});
}

template <class T, class Op, class Kernel>
void reduce_on_device_into(ReduceKernel<T, Op, Kernel> const& reduction, HeldLaunch& launch, T* result) {
  DeviceRun run(launch.memory(), launch.bound_stream(), "reducing on a device");
  reduce_in(run, reduction, launch.is_whole(), result);
}

}  // namespace MEMARRAY_LAUNCH_NAMESPACE
}  // namespace memarray::detail
