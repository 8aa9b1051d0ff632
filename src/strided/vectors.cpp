#include "wide_paths.hpp"

#include "vectors.hpp"

#include <algorithm>
#include <atomic>

#if defined(MEMARRAY_WIDE_PATHS)
#include <cpuid.h>
#endif

namespace memarray::detail {
namespace {

constinit std::atomic<Vectors> vectors_limit{Vectors::avx512};

#if defined(MEMARRAY_WIDE_PATHS)
/// True if the processor has F16C, a feature that `__builtin_cpu_supports` does not know.
bool has_half_conversions() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Vectors processor_vectors() noexcept {
#if defined(MEMARRAY_WIDE_PATHS)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_half_conversions())
    return Vectors::baseline;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return Vectors::avx512;
  return Vectors::avx2;
#else
  return Vectors::baseline;
#endif
}

}  // namespace

Vectors widest_vectors() noexcept {
  static Vectors const has = processor_vectors();
  return std::min(has, vectors_limit.load(std::memory_order_relaxed));
}

Vectors limit_vectors(Vectors most) noexcept { return vectors_limit.exchange(most, std::memory_order_relaxed); }

}  // namespace memarray::detail
