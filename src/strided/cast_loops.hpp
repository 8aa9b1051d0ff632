#pragma once

#include "cast_halves.hpp"
#include "cast_rows.hpp"
#include "dtype_index.hpp"
#include "simd_level.hpp"
#include "simd_targets.hpp"

#include <memarray/base/config.hpp>

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

namespace memarray::detail {

/// Truncates like x86, without undefined behaviour: unrepresentable values become the least integer.
template <class Integer, class Float>
[[nodiscard]] MEMARRAY_ALWAYS_INLINE Integer truncated(Float value) {
  constexpr Float least = static_cast<Float>(std::numeric_limits<Integer>::min());
  bool const fits = (static_cast<int>(value >= least) & static_cast<int>(value < -least)) != 0;
  auto const whole = static_cast<Integer>(fits ? value : Float{0});
  return fits ? whole : std::numeric_limits<Integer>::min();
}

/// Converts through the integers that x86 compilers use, to match NumPy out of range.
template <std::integral To, std::floating_point From>
[[nodiscard]] MEMARRAY_ALWAYS_INLINE To to_integer(From value) {
  if constexpr (std::is_same_v<To, std::uint64_t>) {
    constexpr From half = static_cast<From>(0x1p63);
    bool const upper = value >= half;
    auto const bits = static_cast<std::uint64_t>(truncated<std::int64_t>(upper ? value - half : value));
    return upper ? bits ^ (std::uint64_t{1} << 63) : bits;
  } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, std::uint32_t>) {
    return static_cast<To>(truncated<std::int64_t>(value));
  } else {
    return static_cast<To>(truncated<std::int32_t>(value));
  }
}

template <class To, class From>
[[nodiscard]] MEMARRAY_ALWAYS_INLINE Stored<To> converted(Stored<From> value) {
  if constexpr (std::is_same_v<From, bool>) {
    auto const number = static_cast<std::uint8_t>(value.byte != 0);
    if constexpr (std::is_same_v<To, bool>)
      return StoredBool{number};
    else
      return converted<To, std::uint8_t>(number);
  } else if constexpr (is_reduced_float<From>) {
    return converted<To, float>(to_float(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return StoredBool{static_cast<std::uint8_t>(value != From{})};
  } else if constexpr (is_complex<From> && is_complex<To>) {
    using Part = typename To::value_type;
    return To(static_cast<Part>(value.real()), static_cast<Part>(value.imag()));
  } else if constexpr (is_complex<From>) {
    return converted<To, typename From::value_type>(value.real());
  } else if constexpr (is_complex<To>) {
    return To(static_cast<typename To::value_type>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return to_integer<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
MEMARRAY_ALWAYS_INLINE void cast_elements(std::byte const* source, std::byte* target, std::int64_t count) {
  auto const* __restrict const from = reinterpret_cast<Stored<From> const*>(source);
  auto* __restrict const to = reinterpret_cast<Stored<To>*>(target);
  for (std::int64_t i = 0; i < count; ++i) to[i] = converted<To, From>(from[i]);
}

template <class From, class To>
void cast_row_portable(std::byte const* source, std::byte* target, std::int64_t count) {
  cast_elements<From, To>(source, target, count);
}

/// True if compilers vectorise the conversion with AVX2 (`has_long_vectors`: AVX-512).
template <class From, class To>
inline constexpr bool has_vectors = (std::is_arithmetic_v<From> || is_reduced_float<From>) && std::is_arithmetic_v<To>;
template <class T>
inline constexpr bool is_long = std::is_integral_v<T> && sizeof(T) == 8;
template <class From, class To>
inline constexpr bool has_long_vectors =
    (is_long<From> && std::is_floating_point_v<To>) || (std::is_floating_point_v<From> && is_long<To>);

#if defined(MEMARRAY_SIMD_TARGETS)
template <class From, class To>
MEMARRAY_AVX2 void cast_row_avx2(std::byte const* source, std::byte* target, std::int64_t count) {
  cast_elements<From, To>(source, target, count);
}
template <class From, class To>
MEMARRAY_AVX512 void cast_row_avx512(std::byte const* source, std::byte* target, std::int64_t count) {
  cast_elements<From, To>(source, target, count);
}
#endif

template <class From, class To>
[[nodiscard]] CastRow cast_row_of() {
#if defined(MEMARRAY_SIMD_TARGETS)
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, float16>)
    if (CastRow const cast = cast_row_to_half()) return cast;
  if constexpr (std::is_same_v<From, float16> && std::is_same_v<To, float>)
    if (CastRow const cast = cast_row_from_half()) return cast;
  if constexpr (has_long_vectors<From, To>)
    if (widest_simd_level() == SimdLevel::avx512) return cast_row_avx512<From, To>;
  if constexpr (has_vectors<From, To>)
    if (widest_simd_level() != SimdLevel::baseline) return cast_row_avx2<From, To>;
#endif
  return cast_row_portable<From, To>;
}

template <class From>
[[nodiscard]] CastRow cast_row_to(int to) {
#define MEMARRAY_ENTRY(type, name, code, bits) cast_row_of<From, type>,
  using Find = CastRow (*)();
  static constexpr Find table[] = {MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY)};
  static_assert(std::size(table) == shipped_count);
#undef MEMARRAY_ENTRY
  return table[to]();
}

using FindCast = CastRow (*)(int to);

template <class From, CastGroup group>
[[nodiscard]] constexpr FindCast find_cast_in() {
  if constexpr (cast_group_of(dtype_traits<From>::value.dl.code) == group)
    return cast_row_to<From>;
  else
    return nullptr;
}

template <CastGroup group>
[[nodiscard]] CastRow cast_row_from(int from, int to) {
#define MEMARRAY_ENTRY(type, name, code, bits) find_cast_in<type, group>(),
  static constexpr FindCast table[] = {MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY)};
  static_assert(std::size(table) == shipped_count);
#undef MEMARRAY_ENTRY
  return table[from](to);
}

}  // namespace memarray::detail
