#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/resource/stream_handle.hpp>

#include <cstdint>
#include <span>

namespace memarray::detail {

/// Throws the `ValueError` for a handle whose creation failed.
[[noreturn]] MEMARRAY_API void throw_null_stream();
/// Throws the `CudaError` for a kernel that this file's compiler could not make.
[[noreturn]] MEMARRAY_API void throw_not_compiled_for_device();
/// Throws `CudaError` unless `code` (a `cudaError_t`) is success.
MEMARRAY_API void throw_launch_error(int code, char const* name, char const* what);

// The shipped kernels on shipped dtypes, compiled into the library where it was built with nvcc; `CudaError` elsewhere.
// All pointers but `result` are device memory; those with a result wait for it.

/// target[i] = source[i] + sum of i's indices.
void add_index_on_device(DType const& dtype, std::span<std::int64_t const> shape, void const* source, void* target,
                         StreamHandle const& stream);
/// `result`: one element of SumOf<T>.
MEMARRAY_API void sum_on_device(DType const& dtype, std::int64_t size, void const* source, void* result,
                                StreamHandle const& stream);
/// `result`: one element of the dtype, the total.
MEMARRAY_API void exclusive_scan_on_device(DType const& dtype, std::int64_t size, void const* source, void* target,
                                           void* result, StreamHandle const& stream);

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

/// Launches `body(linear)` for each of `size` elements on `stream`: as many threads as the device holds at once, each
/// of which strides through the grid.
template <class Body>
void launch_device(std::int64_t size, StreamHandle const& stream, Body const& body) {
  if (size == 0) return;
  auto const check = [](cudaError_t code) {
    if (code != cudaSuccess)
      throw_launch_error(static_cast<int>(code), cudaGetErrorName(code), cudaGetErrorString(code));
  };
  int blocks = 0;
  int threads = 0;
  check(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, visit_kernel<Body>, 0, 0));
  std::int64_t const needed = (size + threads - 1) / threads;
  visit_kernel<Body><<<static_cast<unsigned>(std::min<std::int64_t>(needed, std::int64_t{blocks} * 8)),
                       static_cast<unsigned>(threads), 0, *stream>>>(size, body);
  check(cudaGetLastError());
}

}  // namespace memarray::detail

#endif
