#pragma once

#include <memarray/base/dtype.hpp>

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memarray::detail {

inline constexpr int shipped_count = 15;

/// The place of a shipped dtype in the list of them; −1 for any other. Much faster than comparing names.
[[nodiscard]] inline int shipped_index(DType const& dtype) noexcept {
  if (dtype.dl.lanes != 1) return -1;
  int const log2_bytes = std::countr_zero(static_cast<unsigned>(dtype.dl.bits)) - 3;
  switch (dtype.dl.code) {
    case kDLBool: return 0;
    case kDLInt: return 1 + log2_bytes;
    case kDLUInt: return 5 + log2_bytes;
    case kDLFloat: return log2_bytes == 1 ? 9 : 9 + log2_bytes;
    case kDLBfloat: return 10;
    case kDLComplex: return 10 + log2_bytes;
    default: return -1;
  }
}

/// The same of a type, when it is compiled.
template <class T>
inline constexpr int dtype_index_of = [] {
  int place = 0;
  int found = -1;
#define MEMARRAY_ENTRY(type, name, code, bits) \
  if (std::is_same_v<T, type>) found = place;  \
  ++place;
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY)
#undef MEMARRAY_ENTRY
  return found;
}();

/// A bool as it lies in memory, where foreign code may have left any byte; it counts as true unless it is 0.
struct StoredBool {
  std::uint8_t byte;
};

/// The type to read and write elements of a shipped dtype with.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, StoredBool, T>;

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;
template <class T>
inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// As the conversion that the type has, without branches: whole vectors go through it.
[[nodiscard]] MEMARRAY_ALWAYS_INLINE float to_float(float16 half) noexcept {
  std::uint32_t const magnitude = half.bits & 0x7FFFU;
  std::uint32_t const sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
  // All bits where it holds.
  std::uint32_t const subnormal = 0U - static_cast<std::uint32_t>(magnitude < 0x400U);
  std::uint32_t const special = 0U - static_cast<std::uint32_t>(magnitude >= 0x7C00U);
  // A subnormal gets a leading one, which is then subtracted as a number.
  std::uint32_t const rebased = (magnitude << 13) + 0x38000000U + (subnormal & 0x00800000U);
  float const exact = __builtin_bit_cast(float, rebased) - __builtin_bit_cast(float, subnormal & 0x38800000U);
  return __builtin_bit_cast(float, (__builtin_bit_cast(std::uint32_t, exact) + (special & 0x38000000U)) | sign);
}
[[nodiscard]] MEMARRAY_ALWAYS_INLINE float to_float(bfloat16 value) noexcept { return static_cast<float>(value); }

}  // namespace memarray::detail
