#include "cast_halves.hpp"

#include "dtype_index.hpp"
#include "simd_targets.hpp"

#include "simd_level.hpp"

#include <memarray/base/float16.hpp>

#include <cstring>

#if defined(MEMARRAY_SIMD_TARGETS)
#include <immintrin.h>
#endif

namespace memarray::detail {
#if defined(MEMARRAY_SIMD_TARGETS)
namespace {

constexpr std::int64_t together = 8;  // elements that one instruction converts

MEMARRAY_AVX2 void to_halves(std::byte const* source, std::byte* target, std::int64_t count) {
  constexpr int to_nearest = 0;
  std::int64_t i = 0;
  for (; i + together <= count; i += together) {
    __m256 const numbers = _mm256_loadu_ps(reinterpret_cast<float const*>(source) + i);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i * 2), _mm256_cvtps_ph(numbers, to_nearest));
  }
  for (; i < count; ++i) {
    float number = 0;
    std::memcpy(&number, source + i * 4, sizeof number);
    float16 const half(number);
    std::memcpy(target + i * 2, &half, sizeof half);
  }
}

MEMARRAY_AVX2 void from_halves(std::byte const* source, std::byte* target, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + together <= count; i += together) {
    __m128i const halves = _mm_loadu_si128(reinterpret_cast<__m128i const*>(source + i * 2));
    _mm256_storeu_ps(reinterpret_cast<float*>(target) + i, _mm256_cvtph_ps(halves));
  }
  for (; i < count; ++i) {
    float16 half;
    std::memcpy(&half, source + i * 2, sizeof half);
    float const number = to_float(half);
    std::memcpy(target + i * 4, &number, sizeof number);
  }
}

}  // namespace
#endif

CastRow cast_row_to_half() noexcept {
#if defined(MEMARRAY_SIMD_TARGETS)
  if (widest_simd_level() != SimdLevel::baseline) return to_halves;
#endif
  return nullptr;
}

CastRow cast_row_from_half() noexcept {
#if defined(MEMARRAY_SIMD_TARGETS)
  if (widest_simd_level() != SimdLevel::baseline) return from_halves;
#endif
  return nullptr;
}

}  // namespace memarray::detail
