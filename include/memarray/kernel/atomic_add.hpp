#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <type_traits>

#if defined(__CUDACC__)
#include <cuda/atomic>
#endif

namespace memarray {

/// Adds `value` to `where`, atomically among `atomic_add` calls, and returns the old value. Relaxed memory order;
/// device scope. For 32- and 64-bit numbers, on host and device.
template <class T>
  requires(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
MEMARRAY_HD inline T atomic_add(T& where, T value) {
#if defined(__CUDA_ARCH__)
  return cuda::atomic_ref<T, cuda::thread_scope_device>(where).fetch_add(value, cuda::memory_order_relaxed);
#else
  return std::atomic_ref<T>(where).fetch_add(value, std::memory_order_relaxed);
#endif
}

namespace detail {
struct TypesDiffer;  // return type of deleted overloads
}
template <class T, class U>
  requires(!std::is_same_v<T, U>)
detail::TypesDiffer atomic_add(T&, U) = delete;

}  // namespace memarray
