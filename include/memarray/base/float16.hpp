#pragma once

#include <memarray/base/config.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace memarray {

namespace detail {

template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;

// A variable, as device code cannot call max().
template <class Float>
inline constexpr Float largest_finite = std::numeric_limits<Float>::max();

/// Truncates, and sets the last bit if inexact. Rounding the result to a format with at least 2 bits less then equals
/// rounding `exact` once.
template <class Narrow, class Bits, class Wide>
MEMARRAY_HD constexpr Narrow truncate_to_odd(Wide exact) noexcept {
  auto const near = static_cast<Narrow>(exact);
  auto const back = static_cast<Wide>(near);
  bool const below = back < exact;
  bool const above = back > exact;
  bool const is_infinite = near > largest_finite<Narrow> || near < -largest_finite<Narrow>;
  if (!(below || above) || is_infinite) return near;  // exact, NaN or infinite
  auto const bits = __builtin_bit_cast(Bits, near);
  bool const away = exact < 0 ? below : above;
  return __builtin_bit_cast(Narrow, static_cast<Bits>((away ? bits - 1 : bits) | 1U));
}

/// Converts so that rounding to a float of 32 bits or fewer equals rounding `value` once. In wide integers from 2^53
/// on, a sticky bit replaces the low 12 bits.
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
  } else if constexpr (sizeof(T) > sizeof(double)) {
    return truncate_to_odd<double, std::uint64_t>(value);
  } else {
    return static_cast<double>(value);
  }
}

/// Converts so that rounding to 16 bits equals rounding `value` once.
template <Arithmetic T>
MEMARRAY_HD constexpr float round_to_odd(T value) noexcept {
  if constexpr (sizeof(T) < 4 || std::is_same_v<T, float>) {
    return static_cast<float>(value);
  } else {
    return truncate_to_odd<float, std::uint32_t>(as_double(value));
  }
}

MEMARRAY_HD constexpr std::uint16_t float_to_half_bits(float value) noexcept {
  auto const bits = __builtin_bit_cast(std::uint32_t, value);
  auto const sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  std::uint32_t const magnitude = bits & 0x7FFFFFFFU;
  if (magnitude >= 0x7F800000U) {
    bool const nan = magnitude > 0x7F800000U;
    // NaNs keep upper payload bits and become quiet.
    return static_cast<std::uint16_t>(sign | 0x7C00U | (nan ? 0x200U | ((magnitude >> 13) & 0x3FFU) : 0U));
  }
  if (magnitude >= 0x477FF000U) {  // 65520 and above round to infinity
    return static_cast<std::uint16_t>(sign | 0x7C00U);
  }
  if (magnitude >= 0x38800000U) {  // normal: round half to even
    std::uint32_t const rebased = magnitude - 0x38000000U;
    return static_cast<std::uint16_t>(sign | ((rebased + 0xFFFU + ((rebased >> 13) & 1U)) >> 13));
  }
  // Subnormal: adding 0.5 aligns the mantissa with 2^-24 and rounds.
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
  static constexpr int digits = 11;
  static constexpr int exponent_bits = 5;
  MEMARRAY_HD static constexpr std::uint16_t from_float(float value) noexcept { return float_to_half_bits(value); }
  MEMARRAY_HD static constexpr float to_float(std::uint16_t bits) noexcept { return half_bits_to_float(bits); }
};

struct BfloatFormat {
  static constexpr int digits = 8;
  static constexpr int exponent_bits = 8;
  MEMARRAY_HD static constexpr std::uint16_t from_float(float value) noexcept { return float_to_bfloat_bits(value); }
  MEMARRAY_HD static constexpr float to_float(std::uint16_t bits) noexcept { return bfloat_bits_to_float(bits); }
};

}  // namespace detail

/// A 16-bit float with IEEE rounding, for host and device code (`_Float16` breaks nvcc). Two values of one format yield
/// that format, as in C++23; beside other numbers, a value is a float.
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

// Templates, which convert no operands: in mixed expressions 16-bit floats are floats.
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

/// True for dtypes that compute as float, such as 16-bit floats; also for other classes that convert to float.
template <class T>
inline constexpr bool is_reduced_float = std::is_class_v<T> && std::is_convertible_v<T, float>;

}  // namespace detail

/// IEEE 754 half precision.
using float16 = BasicFloat16<detail::HalfFormat>;
/// The upper half of a float: 8 bits of exponent, 7 of fraction.
using bfloat16 = BasicFloat16<detail::BfloatFormat>;

static_assert(sizeof(float16) == 2 && std::is_trivially_copyable_v<float16>);
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16>);

}  // namespace memarray

namespace std {

template <class Format>
class numeric_limits<memarray::BasicFloat16<Format>> {
  using T = memarray::BasicFloat16<Format>;
  static constexpr int mantissa_bits = Format::digits - 1;
  static constexpr int bias = (1 << (Format::exponent_bits - 1)) - 1;
  static constexpr int infinity_bits = ((1 << Format::exponent_bits) - 1) << mantissa_bits;
  // log10(2) is 0.30103.
  static constexpr int decimal(int binary) { return static_cast<int>(binary * 30103LL / 100000); }
  MEMARRAY_HD static constexpr T from(int bits) noexcept { return T::from_bits(static_cast<std::uint16_t>(bits)); }

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr bool is_iec559 = true;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2;
  static constexpr int digits = Format::digits;
  static constexpr int digits10 = decimal(digits - 1);
  static constexpr int max_digits10 = decimal(digits) + 2;
  static constexpr int min_exponent = 2 - bias;
  static constexpr int min_exponent10 = decimal(min_exponent - 1);
  static constexpr int max_exponent = bias + 1;
  static constexpr int max_exponent10 = decimal(max_exponent);

  MEMARRAY_HD static constexpr T min() noexcept { return from(1 << mantissa_bits); }
  MEMARRAY_HD static constexpr T max() noexcept { return from(infinity_bits - 1); }
  MEMARRAY_HD static constexpr T lowest() noexcept { return -max(); }
  MEMARRAY_HD static constexpr T epsilon() noexcept { return from((bias - mantissa_bits) << mantissa_bits); }
  MEMARRAY_HD static constexpr T round_error() noexcept { return from((bias - 1) << mantissa_bits); }
  MEMARRAY_HD static constexpr T infinity() noexcept { return from(infinity_bits); }
  MEMARRAY_HD static constexpr T quiet_NaN() noexcept { return from(infinity_bits | (1 << (mantissa_bits - 1))); }
  MEMARRAY_HD static constexpr T signaling_NaN() noexcept { return from(infinity_bits | (1 << (mantissa_bits - 2))); }
  MEMARRAY_HD static constexpr T denorm_min() noexcept { return from(1); }
};

}  // namespace std
