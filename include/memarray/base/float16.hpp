#pragma once

#include <cstdint>
#include <type_traits>

#include <memarray/base/config.hpp>

namespace memarray {

namespace detail {

template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;

/// Returns `value` as a double. Integers beyond 2^53 keep the cut-off bits as one lowest (sticky) bit, so that rounding
/// the result to 32 bits or fewer equals rounding `value` itself.
template <Arithmetic T>
MEMARRAY_HD constexpr double as_double(T value) noexcept {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    bool is_negative = false;
    if constexpr (std::is_signed_v<T>) is_negative = value < 0;
    auto magnitude = static_cast<std::uint64_t>(value);
    if (is_negative) magnitude = 0 - magnitude;
    if (magnitude >> 53 != 0) magnitude = (magnitude & ~0xFFFULL) | ((magnitude & 0xFFFULL) != 0 ? 0x800ULL : 0);
    double const number = static_cast<double>(magnitude);
    return is_negative ? -number : number;
  } else {
    return static_cast<double>(value);
  }
}

/// Returns `value` truncated to a float, with the last bit set if the conversion is inexact. Rounding the result to 16
/// bits therefore equals rounding `value` itself.
template <Arithmetic T>
MEMARRAY_HD constexpr float round_to_odd(T value) noexcept {
  if constexpr (sizeof(T) < 4 || std::is_same_v<T, float>) {
    return static_cast<float>(value);
  } else {
    double const exact = as_double(value);
    float const near = static_cast<float>(exact);
    double const back = static_cast<double>(near);
    bool const below = back < exact;
    bool const above = back > exact;
    auto const bits = __builtin_bit_cast(std::uint32_t, near);
    bool const is_beyond_range = (bits & 0x7FFFFFFFU) == 0x7F800000U;
    if (!(below || above) || is_beyond_range) return near;  // neither: exact, or NaN
    bool const away = exact < 0 ? below : above;
    return __builtin_bit_cast(float, (away ? bits - 1 : bits) | 1U);
  }
}

MEMARRAY_HD constexpr std::uint16_t float_to_half_bits(float value) noexcept {
  auto const bits = __builtin_bit_cast(std::uint32_t, value);
  auto const sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  std::uint32_t const magnitude = bits & 0x7FFFFFFFU;
  if (magnitude >= 0x7F800000U) {
    bool const nan = magnitude > 0x7F800000U;
    // A NaN keeps its upper payload bits and becomes quiet.
    return static_cast<std::uint16_t>(sign | 0x7C00U | (nan ? 0x200U | ((magnitude >> 13) & 0x3FFU) : 0U));
  }
  if (magnitude >= 0x477FF000U) {  // 65520 and above round to infinity
    return static_cast<std::uint16_t>(sign | 0x7C00U);
  }
  if (magnitude >= 0x38800000U) {  // normal: rebias, then round half to even
    std::uint32_t const rebased = magnitude - 0x38000000U;
    return static_cast<std::uint16_t>(sign | ((rebased + 0xFFFU + ((rebased >> 13) & 1U)) >> 13));
  }
  // Subnormal: adding 0.5 lines the mantissa up with 2^-24, and the addition rounds.
  float const shifted = __builtin_bit_cast(float, magnitude) + 0.5F;
  return static_cast<std::uint16_t>(sign | (__builtin_bit_cast(std::uint32_t, shifted) - 0x3F000000U));
}

MEMARRAY_HD constexpr float half_bits_to_float(std::uint16_t half) noexcept {
  std::uint32_t const sign = (half & 0x8000U) << 16;
  std::uint32_t const magnitude = half & 0x7FFFU;
  if (magnitude >= 0x7C00U) {
    return __builtin_bit_cast(float, sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13));
  }
  if (magnitude >= 0x400U) {
    return __builtin_bit_cast(float, sign | ((magnitude << 13) + 0x38000000U));
  }
  float const value = static_cast<float>(magnitude) * 0x1p-24F;
  return sign != 0 ? -value : value;
}

MEMARRAY_HD constexpr std::uint16_t float_to_bfloat_bits(float value) noexcept {
  auto const bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

MEMARRAY_HD constexpr float bfloat_bits_to_float(std::uint16_t bits) noexcept {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

struct HalfFormat {
  MEMARRAY_HD static constexpr std::uint16_t from_float(float value) noexcept { return float_to_half_bits(value); }
  MEMARRAY_HD static constexpr float to_float(std::uint16_t bits) noexcept { return half_bits_to_float(bits); }
};

struct BfloatFormat {
  MEMARRAY_HD static constexpr std::uint16_t from_float(float value) noexcept { return float_to_bfloat_bits(value); }
  MEMARRAY_HD static constexpr float to_float(std::uint16_t bits) noexcept { return bfloat_bits_to_float(bits); }
};

}  // namespace detail

/// A 16-bit float with IEEE rounding, for host and device code. (`_Float16` breaks nvcc's device compiler.) An
/// operation on two values of one format gives that format and rounds, as with C++23's extended types. Combined with
/// any other number, a value behaves as a float.
template <class Format>
struct BasicFloat16 {
  std::uint16_t bits = 0;

  constexpr BasicFloat16() noexcept = default;
  template <detail::Arithmetic T>
  MEMARRAY_HD constexpr BasicFloat16(T value) noexcept : bits(Format::from_float(detail::round_to_odd(value))) {}
  MEMARRAY_HD constexpr operator float() const noexcept { return Format::to_float(bits); }

  MEMARRAY_HD static constexpr BasicFloat16 from_bits(std::uint16_t bits) noexcept {
    BasicFloat16 result;
    result.bits = bits;
    return result;
  }

  MEMARRAY_HD constexpr BasicFloat16 operator-() const noexcept {
    return from_bits(static_cast<std::uint16_t>(bits ^ 0x8000U));
  }
  MEMARRAY_HD constexpr BasicFloat16& operator+=(float other) noexcept {
    return *this = BasicFloat16(Format::to_float(bits) + other);
  }
  MEMARRAY_HD constexpr BasicFloat16& operator-=(float other) noexcept {
    return *this = BasicFloat16(Format::to_float(bits) - other);
  }
  MEMARRAY_HD constexpr BasicFloat16& operator*=(float other) noexcept {
    return *this = BasicFloat16(Format::to_float(bits) * other);
  }
  MEMARRAY_HD constexpr BasicFloat16& operator/=(float other) noexcept {
    return *this = BasicFloat16(Format::to_float(bits) / other);
  }
};

// Templates, so that they accept two values of one format and no operand that needs a conversion. A mixed expression
// then has one reading: as floats.
template <class Format>
MEMARRAY_HD constexpr BasicFloat16<Format> operator+(BasicFloat16<Format> left, BasicFloat16<Format> right) noexcept {
  return Format::to_float(left.bits) + Format::to_float(right.bits);
}
template <class Format>
MEMARRAY_HD constexpr BasicFloat16<Format> operator-(BasicFloat16<Format> left, BasicFloat16<Format> right) noexcept {
  return Format::to_float(left.bits) - Format::to_float(right.bits);
}
template <class Format>
MEMARRAY_HD constexpr BasicFloat16<Format> operator*(BasicFloat16<Format> left, BasicFloat16<Format> right) noexcept {
  return Format::to_float(left.bits) * Format::to_float(right.bits);
}
template <class Format>
MEMARRAY_HD constexpr BasicFloat16<Format> operator/(BasicFloat16<Format> left, BasicFloat16<Format> right) noexcept {
  return Format::to_float(left.bits) / Format::to_float(right.bits);
}

namespace detail {

/// True for a floating-point class of fewer than 32 bits, whose arithmetic is that of float.
template <class T>
inline constexpr bool is_reduced_float = std::is_class_v<T> && std::is_convertible_v<T, float>;

}  // namespace detail

using float16 = BasicFloat16<detail::HalfFormat>;
using bfloat16 = BasicFloat16<detail::BfloatFormat>;

static_assert(sizeof(float16) == 2 && std::is_trivially_copyable_v<float16>);
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16>);

}  // namespace memarray
