#pragma once

#include <memarray/base/dtype.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memarray::detail {

#define MEMARRAY_ENTRY(type, name, code, bits) +1
inline constexpr int shipped_count = MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY);
#undef MEMARRAY_ENTRY

/// Positions in the dtype list, by DLPack type code and log2 of the bytes; −1 for none.
inline constexpr auto dtype_positions = [] {
  constexpr DLDataType shipped[] = {
#define MEMARRAY_ENTRY(type, name, code, bits) {code, bits, 1},
      MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY)
#undef MEMARRAY_ENTRY
  };
  constexpr int largest_code = std::ranges::max(shipped, {}, &DLDataType::code).code;
  constexpr int largest_bits = std::ranges::max(shipped, {}, &DLDataType::bits).bits;
  std::array<std::array<std::int8_t, std::bit_width(largest_bits / 8U)>, largest_code + 1> positions{};
  for (auto& row : positions) row.fill(-1);
  for (int place = 0; place < shipped_count; ++place) {
    DLDataType const& dl = shipped[place];
    positions[dl.code][static_cast<std::size_t>(std::countr_zero(dl.bits / 8U))] = static_cast<std::int8_t>(place);
  }
  return positions;
}();
static_assert(
    [] {
      std::ptrdiff_t count = 0;
      for (auto const& row : dtype_positions) count += std::ranges::count_if(row, [](int place) { return place >= 0; });
      return count;
    }() == shipped_count,
    "two dtypes of the list have one DLPack type, or a size that is no power of two");

/// Returns the position in the dtype list, or −1, without comparing names.
[[nodiscard]] inline int shipped_index(DType const& dtype) noexcept {
  if (dtype.dl.lanes != 1 || dtype.dl.code >= dtype_positions.size()) return -1;
  auto const log2_bytes = static_cast<std::size_t>(std::countr_zero(dtype.dl.bits / 8U));
  return log2_bytes < dtype_positions[0].size() ? dtype_positions[dtype.dl.code][log2_bytes] : -1;
}

/// The position of `T` in the dtype list, or −1.
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

/// A bool in memory. Foreign code may write any byte; all but 0 are true.
struct StoredBool {
  std::uint8_t byte;
};

/// A `T` in memory.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, StoredBool, T>;

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

/// True if the switches over DLPack's type code at run time handle `T`. They are those of `device_number.hpp`,
/// `cast_rows.hpp`, `strided_copy.cpp` and the bindings' `elements.cpp`; their defaults are floating-point numbers.
template <class T>
[[nodiscard]] constexpr bool is_in_switches(int code) noexcept {
  constexpr bool is_small_float = is_reduced_float<T> && sizeof(T) < sizeof(float);
  constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8;
  switch (code) {
    case kDLBool: return std::is_same_v<T, bool>;
    case kDLInt: return is_integer && std::is_signed_v<T>;
    case kDLUInt: return is_integer && std::is_unsigned_v<T>;
    case kDLFloat: return is_small_float || std::is_same_v<T, float> || std::is_same_v<T, double>;
    case kDLComplex: return std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
    case kDLOpaqueHandle: return false;
    default: return is_small_float;
  }
}
#define MEMARRAY_ENTRY(type, name, code, bits) &&is_in_switches<type>(code)
static_assert(true MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY),
              "a dtype of the list is taken for another in a switch: extend the switches, then is_in_switches");
#undef MEMARRAY_ENTRY

/// Converts without branches, so that loops vectorise.
[[nodiscard]] MEMARRAY_ALWAYS_INLINE float to_float(float16 half) noexcept {
  std::uint32_t const magnitude = half.bits & 0x7FFFU;
  std::uint32_t const sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
  // All bits or none.
  std::uint32_t const subnormal = 0U - static_cast<std::uint32_t>(magnitude < 0x400U);
  std::uint32_t const special = 0U - static_cast<std::uint32_t>(magnitude >= 0x7C00U);
  // A subnormal gets a leading one, which is then subtracted.
  std::uint32_t const rebased = (magnitude << 13) + 0x38000000U + (subnormal & 0x00800000U);
  float const exact = __builtin_bit_cast(float, rebased) - __builtin_bit_cast(float, subnormal & 0x38800000U);
  return __builtin_bit_cast(float, (__builtin_bit_cast(std::uint32_t, exact) + (special & 0x38000000U)) | sign);
}
template <class T>
  requires is_reduced_float<T>
[[nodiscard]] MEMARRAY_ALWAYS_INLINE float to_float(T value) noexcept {
  return static_cast<float>(value);
}

}  // namespace memarray::detail
