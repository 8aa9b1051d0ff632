#pragma once

#include <memarray/base/dtype.hpp>

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memarray::detail {

inline constexpr int shipped_count = 15;

/// Returns the position of a shipped dtype in the dtype list; −1 for any other. Much faster than comparing names.
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

/// The position of type T in the dtype list, at compile time; −1 if it is not there.
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

/// A bool in memory, where foreign code may have left any byte; every byte but 0 is true.
struct StoredBool {
  std::uint8_t byte;
};

/// The type for reading and writing elements of a shipped dtype.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, StoredBool, T>;

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;
template <class T>
inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// Converts like the type's own conversion, but without branches, so that loops vectorise.
[[nodiscard]] MEMARRAY_ALWAYS_INLINE float to_float(float16 half) noexcept {
  std::uint32_t const magnitude = half.bits & 0x7FFFU;
  std::uint32_t const sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
  // Masks: all bits are set if the condition holds.
  std::uint32_t const subnormal = 0U - static_cast<std::uint32_t>(magnitude < 0x400U);
  std::uint32_t const special = 0U - static_cast<std::uint32_t>(magnitude >= 0x7C00U);
  // A subnormal gets a leading one, which is then subtracted as a float.
  std::uint32_t const rebased = (magnitude << 13) + 0x38000000U + (subnormal & 0x00800000U);
  float const exact = __builtin_bit_cast(float, rebased) - __builtin_bit_cast(float, subnormal & 0x38800000U);
  return __builtin_bit_cast(float, (__builtin_bit_cast(std::uint32_t, exact) + (special & 0x38000000U)) | sign);
}
[[nodiscard]] MEMARRAY_ALWAYS_INLINE float to_float(bfloat16 value) noexcept { return static_cast<float>(value); }

}  // namespace memarray::detail
