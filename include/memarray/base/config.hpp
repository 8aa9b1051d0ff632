#pragma once

// What every header needs to say "exported", "host and device" and "inline here or nowhere".

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

// Before a loop that device code must have written out.
#if defined(__CUDA_ARCH__)
#define MEMARRAY_UNROLL _Pragma("unroll")
#else
#define MEMARRAY_UNROLL
#endif

// Templates whose bodies differ between compilers live in this inline namespace, so that g++ and nvcc never
// give one symbol two bodies.
#if defined(__CUDACC__)
#define MEMARRAY_LAUNCH_NAMESPACE compiled_by_nvcc
#else
#define MEMARRAY_LAUNCH_NAMESPACE compiled_by_host
#endif
