#pragma once

/// @file
/// Attributes, empty where a compiler lacks them.

#if defined(__GNUC__)
#define MEMARRAY_API __attribute__((visibility("default")))
#define MEMARRAY_ALWAYS_INLINE inline __attribute__((always_inline))
#define MEMARRAY_COLD __attribute__((cold, noinline))
#else
#define MEMARRAY_API
#define MEMARRAY_ALWAYS_INLINE inline
#define MEMARRAY_COLD
#endif

#if !defined(__CUDACC__)
/// Precedes a function for host and device code: `__host__ __device__` under nvcc, else empty.
#define MEMARRAY_HD
#else
#define MEMARRAY_HD __host__ __device__
#endif

// Precedes a loop that a device's compiler unrolls.
#if defined(__CUDA_ARCH__)
#define MEMARRAY_UNROLL _Pragma("unroll")
#else
#define MEMARRAY_UNROLL
#endif

// Precedes a loop of independent steps: compilers vectorise it without overlap checks.
#if defined(__clang__)
#define MEMARRAY_INDEPENDENT_STEPS _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define MEMARRAY_INDEPENDENT_STEPS _Pragma("GCC ivdep")
#else
#define MEMARRAY_INDEPENDENT_STEPS
#endif

// Separates templates whose bodies differ between g++ and nvcc (one-definition rule).
#if defined(__CUDACC__)
#define MEMARRAY_LAUNCH_NAMESPACE compiled_by_nvcc
#else
#define MEMARRAY_LAUNCH_NAMESPACE compiled_by_host
#endif
