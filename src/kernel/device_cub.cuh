#pragma once

#include <memarray/detail/base/add_wrapping.hpp>
#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/launch_device.hpp>

#include <cuda_runtime.h>

#include <cstddef>

namespace memarray::detail {

/// Runs a CUB algorithm, which sets `bytes` to the scratch memory that it needs if `scratch` is null.
template <class Algorithm>
void run_cub(DeviceRun& run, Algorithm const& algorithm) {
  std::size_t bytes = 0;
  check_cuda(algorithm(nullptr, bytes));
  void* const scratch = run.scratch(bytes);
  check_cuda(algorithm(scratch, bytes));
}

template <class T>
struct Plus {
  __host__ __device__ T operator()(T const& left, T const& right) const { return add_wrapping(left, right); }
};

}  // namespace memarray::detail
