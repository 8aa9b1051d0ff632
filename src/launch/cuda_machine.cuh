#pragma once

#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/launch_device.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// A machine for algorithms that tests run on the host: the device of a run. Its operations are in stream order.
struct CudaMachine {
  DeviceRun& run;

  /// Submits `kernel` for `size` positions, at least one. Throws `CudaError`.
  template <class Kernel>
  void launch(Kernel kernel, std::int64_t size) {
    BoundStream const& bound_stream = run.bound_stream();
    submit_kernel(kernel, plan_kernel<Kernel>(size, 0, bound_stream), bound_stream);
  }
  // Like those of the run.
  std::byte* scratch(std::size_t bytes) { return run.scratch(bytes); }
  std::byte* upload(std::size_t bytes, std::byte const* data) { return run.upload(bytes, data); }
  /// Copies device memory. Throws `CudaError`.
  void copy(std::byte* to, std::byte const* from, std::size_t bytes) {
    check_cuda([&] { return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, *run.bound_stream().stream); });
  }
};

}  // namespace memarray::detail
