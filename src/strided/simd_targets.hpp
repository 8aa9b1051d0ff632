#pragma once

// Inline loops are compiled once for each `SimdLevel`; `widest_simd_level` selects one at run time.
// Without CMake's MEMARRAY_SIMD_TARGETS, only the baseline exists.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(MEMARRAY_BASELINE_ONLY)
#define MEMARRAY_SIMD_TARGETS 1
#define MEMARRAY_AVX2 __attribute__((target("avx2,fma,f16c")))
// clang ignores attributes with unknown words.
#if defined(__clang__)
#define MEMARRAY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c")))
#else
#define MEMARRAY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c,prefer-vector-width=512")))
#endif
#endif
