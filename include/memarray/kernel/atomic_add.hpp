#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <type_traits>

#if defined(__CUDACC__)
#include <cuda/atomic>
#endif

namespace memarray {

/// Adds `value` to `where` atomically with respect to other `atomic_add` calls, and returns the old value. The memory
/// order is relaxed; on a device the scope is that device. For integers and floating-point types of 32 and 64 bits, in
/// kernels on the host and on devices.
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
