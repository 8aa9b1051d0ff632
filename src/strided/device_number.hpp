#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// A dtype in device code; all threads take the same branch.
struct ElementKind {
  std::uint8_t code;   ///< DLPack's type code
  std::uint8_t bytes;  ///< of the whole element

  [[nodiscard]] static ElementKind of(DType const& dtype) noexcept {
    return {dtype.dl.code, static_cast<std::uint8_t>(dtype.dl.bits / 8)};
  }
  /// Returns the alignment of a load: complex numbers are loaded in halves.
  [[nodiscard]] std::size_t alignment() const noexcept { return code == kDLComplex ? bytes / 2U : bytes; }
  [[nodiscard]] MEMARRAY_HD bool is_integral() const { return code == kDLBool || code == kDLInt || code == kDLUInt; }
};

/// Calls `f` with a zero of that 16-bit float; false for other kinds.
template <class F>
MEMARRAY_HD bool with_reduced_float(ElementKind kind, F const& f) {
#define MEMARRAY_TRY(type, name, dl_code, bits)               \
  if constexpr (is_reduced_float<type>) {                     \
    if (kind.code == (dl_code) && kind.bytes == (bits) / 8) { \
      f(type{});                                              \
      return true;                                            \
    }                                                         \
  }
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_TRY)
#undef MEMARRAY_TRY
  return false;
}

/// An element in the widest type of its kind.
struct Number {
  std::uint64_t bits = 0;  ///< bool and integers, extended to 64 bits
  double real = 0;         ///< others
  double imag = 0;
};

template <class T>
MEMARRAY_HD T load_as(std::byte const* from) {
  return *reinterpret_cast<T const*>(from);
}

MEMARRAY_HD inline Number load_number(ElementKind kind, std::byte const* from) {
  Number number;
  switch (kind.code) {
    case kDLBool: number.bits = load_as<std::uint8_t>(from) != 0 ? 1 : 0; break;
    case kDLInt:
      number.bits = static_cast<std::uint64_t>(kind.bytes == 1   ? std::int64_t{load_as<std::int8_t>(from)}
                                               : kind.bytes == 2 ? std::int64_t{load_as<std::int16_t>(from)}
                                               : kind.bytes == 4 ? std::int64_t{load_as<std::int32_t>(from)}
                                                                 : load_as<std::int64_t>(from));
      break;
    case kDLUInt:
      number.bits = kind.bytes == 1   ? load_as<std::uint8_t>(from)
                    : kind.bytes == 2 ? load_as<std::uint16_t>(from)
                    : kind.bytes == 4 ? load_as<std::uint32_t>(from)
                                      : load_as<std::uint64_t>(from);
      break;
    case kDLComplex:
      number.real = kind.bytes == 8 ? static_cast<double>(load_as<float>(from)) : load_as<double>(from);
      number.imag = kind.bytes == 8 ? static_cast<double>(load_as<float>(from + 4)) : load_as<double>(from + 8);
      break;
    default:
      if (with_reduced_float(kind, [&](auto zero) {
            number.real = static_cast<double>(static_cast<float>(load_as<decltype(zero)>(from)));
          }))
        break;
      number.real = kind.bytes == 4 ? static_cast<double>(load_as<float>(from)) : load_as<double>(from);
  }
  return number;
}

template <class T>
MEMARRAY_HD void store_as(std::byte* to, T value) {
  *reinterpret_cast<T*>(to) = value;
}

/// Truncates like `truncated` of `cast_loops.hpp`.
MEMARRAY_HD inline std::uint64_t truncated_bits(double value, bool to_64_bits) {
  double const end = to_64_bits ? 0x1p63 : 0x1p31;
  if (value >= -end && value < end) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  return static_cast<std::uint64_t>(to_64_bits ? INT64_MIN : std::int64_t{INT32_MIN});
}

/// Converts like `copy` of `strided_copy.hpp`.
MEMARRAY_HD inline std::uint64_t integer_bits(ElementKind to, double value) {
  if (to.code == kDLUInt && to.bytes == 8 && value >= 0x1p63)
    return truncated_bits(value - 0x1p63, true) ^ (std::uint64_t{1} << 63);
  return truncated_bits(value, to.bytes == 8 || (to.code == kDLUInt && to.bytes == 4));
}

// Compares bits, because `==` draws `-Wfloat-equal`.
[[nodiscard]] MEMARRAY_HD constexpr bool is_zero(double number) noexcept {
  return __builtin_bit_cast(std::uint64_t, number) << 1 == 0;
}
[[nodiscard]] MEMARRAY_HD constexpr bool is_nan(double number) noexcept {
  return __builtin_bit_cast(std::uint64_t, number) << 1 > 0xFFE0000000000000U;
}

MEMARRAY_HD inline void store_number(ElementKind to, std::byte* target, ElementKind from, Number const& number) {
  bool const integral = from.is_integral();
  bool const is_unsigned = from.code == kDLUInt;
  auto const as_signed = static_cast<std::int64_t>(number.bits);
  switch (to.code) {
    case kDLBool: {
      bool const is_false = integral ? number.bits == 0 : is_zero(number.real) && is_zero(number.imag);
      return store_as(target, static_cast<std::uint8_t>(is_false ? 0 : 1));
    }
    case kDLInt:
    case kDLUInt: {
      std::uint64_t const bits = integral ? number.bits : integer_bits(to, number.real);
      if (to.bytes == 1) return store_as(target, static_cast<std::uint8_t>(bits));
      if (to.bytes == 2) return store_as(target, static_cast<std::uint16_t>(bits));
      if (to.bytes == 4) return store_as(target, static_cast<std::uint32_t>(bits));
      return store_as(target, bits);
    }
    default: break;
  }
  // Round once, from the original element.
  if (with_reduced_float(to, [&](auto zero) {
        using T = decltype(zero);
        store_as(target, !integral ? T(number.real) : is_unsigned ? T(number.bits) : T(as_signed));
      }))
    return;
  double const real = !integral     ? number.real
                      : is_unsigned ? static_cast<double>(number.bits)
                                    : static_cast<double>(as_signed);
  float const single = !integral     ? static_cast<float>(number.real)
                       : is_unsigned ? static_cast<float>(number.bits)
                                     : static_cast<float>(as_signed);
  if (to.code == kDLFloat) {
    if (to.bytes == 4) return store_as(target, single);
    return store_as(target, real);
  }
  if (to.bytes == 8) {
    store_as(target, single);
    return store_as(target + 4, static_cast<float>(number.imag));
  }
  store_as(target, real);
  store_as(target + 8, number.imag);
}

}  // namespace memarray::detail
