#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/resource/queue.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace memarray::detail {

/// Where a kernel runs.
enum class Runs {
  on_host,       ///< on the host's threads, now
  in_emulation,  ///< on a simulated device: as a host function in the order of a stream
  on_device,
};

/// Throws the `ValueError` for a handle whose creation failed.
[[noreturn]] MEMARRAY_API void throw_null_stream();
/// Submits `kernel(data)` to a stream of a simulated device. Throws `CudaError`.
MEMARRAY_API void submit_emulated(Queue const& queue, cu::HostFunction kernel, void* data);
/// Blocks until the queue's work has ended; the error of a kernel comes out here. Throws `CudaError`.
MEMARRAY_API void finish(Queue const& queue);

/// The same for any callable, which must not refer to what may be gone by then.
template <class Kernel>
void launch_emulated(Queue const& queue, Kernel kernel) {
  auto owned = std::make_unique<Kernel>(std::move(kernel));
  cu::HostFunction const run = [](void* data) { (*std::unique_ptr<Kernel>(static_cast<Kernel*>(data)))(); };
  submit_emulated(queue, run, owned.get());
  static_cast<void>(owned.release());
}
/// Throws the `CudaError` for a kernel that this file's compiler could not make.
[[noreturn]] MEMARRAY_API void throw_not_compiled_for_device();
/// Throws `CudaError` unless `code` (a `cudaError_t`) is success.
MEMARRAY_API void throw_launch_error(int code, char const* name, char const* what);

// The shipped kernels on shipped dtypes, compiled into the library where it was built with nvcc; `CudaError` elsewhere.
// All pointers but `result` are device memory; those with a result wait for it.

/// target[i] = source[i] + sum of i's indices.
void add_index_on_device(DType const& dtype, std::span<std::int64_t const> shape, void const* source, void* target,
                         Queue const& queue);
/// `result`: one element of SumOf<T>.
MEMARRAY_API void sum_on_device(DType const& dtype, std::int64_t size, void const* source, void* result,
                                Queue const& queue);
/// `result`: one element of the dtype, the total.
MEMARRAY_API void exclusive_scan_on_device(DType const& dtype, std::int64_t size, void const* source, void* target,
                                           void* result, Queue const& queue);

}  // namespace memarray::detail

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#include <algorithm>

namespace memarray::detail {

template <class Body>
__global__ void visit_kernel(std::int64_t size, Body body) {
  std::int64_t const step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step) body(i);
}

/// Launches `body(linear)` for each of `size` elements in `queue`: as many threads as the device holds at once, each
/// of which strides through the grid.
template <class Body>
void launch_device(std::int64_t size, Queue const& queue, Body const& body) {
  if (size == 0) return;
  ContextScope const scope(queue.context);
  auto const check = [](cudaError_t code) {
    if (code != cudaSuccess)
      throw_launch_error(static_cast<int>(code), cudaGetErrorName(code), cudaGetErrorString(code));
  };
  int blocks = 0;
  int threads = 0;
  check(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, visit_kernel<Body>, 0, 0));
  std::int64_t const needed = (size + threads - 1) / threads;
  visit_kernel<Body><<<static_cast<unsigned>(std::min<std::int64_t>(needed, std::int64_t{blocks} * 8)),
                       static_cast<unsigned>(threads), 0, *queue.stream>>>(size, body);
  check(cudaGetLastError());
}

}  // namespace memarray::detail

#endif
