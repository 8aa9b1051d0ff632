#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <type_traits>

#if defined(__CUDACC__)
#include <cuda/atomic>
#endif

namespace memarray {

/// Adds `value` to `where` as one step that no other `atomic_add` comes between; returns what was there before.
/// Relaxed: it orders nothing else. For integers and floating-point types of 32 and 64 bits, inside kernels on the host
/// and on devices.
template <class T>
  requires(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
MEMARRAY_HD inline T atomic_add(T& where, T value) {
#if defined(__CUDA_ARCH__)
  return cuda::atomic_ref<T, cuda::thread_scope_device>(where).fetch_add(value, cuda::memory_order_relaxed);
#else
  return std::atomic_ref<T>(where).fetch_add(value, std::memory_order_relaxed);
#endif
}

}  // namespace memarray
