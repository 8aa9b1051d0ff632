#pragma once

// Attributes for every header: exported, forced inline, cold, host and device.

#if defined(__GNUC__)
#define MEMARRAY_API __attribute__((visibility("default")))
#define MEMARRAY_ALWAYS_INLINE inline __attribute__((always_inline))
#define MEMARRAY_COLD __attribute__((cold, noinline))
#else
#define MEMARRAY_API
#define MEMARRAY_ALWAYS_INLINE inline
#define MEMARRAY_COLD
#endif

#if defined(__CUDACC__)
#define MEMARRAY_HD __host__ __device__
#else
#define MEMARRAY_HD
#endif

// Goes before a loop that must be unrolled in device code.
#if defined(__CUDA_ARCH__)
#define MEMARRAY_UNROLL _Pragma("unroll")
#else
#define MEMARRAY_UNROLL
#endif

// The inline namespace of templates whose bodies differ between compilers, so that g++ and nvcc never define one symbol
// differently.
#if defined(__CUDACC__)
#define MEMARRAY_LAUNCH_NAMESPACE compiled_by_nvcc
#else
#define MEMARRAY_LAUNCH_NAMESPACE compiled_by_host
#endif
