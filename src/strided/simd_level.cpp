#include "simd_targets.hpp"

#include "simd_level.hpp"

#include <algorithm>
#include <atomic>

#if defined(MEMARRAY_SIMD_TARGETS)
#include <cpuid.h>
#endif

namespace memarray::detail {
namespace {

constinit std::atomic<SimdLevel> vectors_limit{SimdLevel::avx512};

#if defined(MEMARRAY_SIMD_TARGETS)
/// True for F16C, which `__builtin_cpu_supports` does not know.
bool has_half_conversions() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

SimdLevel processor_vectors() noexcept {
#if defined(MEMARRAY_SIMD_TARGETS)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_half_conversions())
    return SimdLevel::baseline;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return SimdLevel::avx512;
  return SimdLevel::avx2;
#else
  return SimdLevel::baseline;
#endif
}

}  // namespace

SimdLevel widest_simd_level() noexcept {
  static SimdLevel const has = processor_vectors();
  return std::min(has, vectors_limit.load(std::memory_order_relaxed));
}

SimdLevel limit_simd_level(SimdLevel most) noexcept { return vectors_limit.exchange(most, std::memory_order_relaxed); }

}  // namespace memarray::detail
