#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/launch/key_sort.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memarray::detail {

/// Maps a key's bits to an unsigned integer of NumPy's order: NaN is the largest, −0.0 equals 0.0.
template <class U>
[[nodiscard]] MEMARRAY_HD constexpr U order_of(U bits, KeyKind kind) noexcept {
  constexpr U sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  if (kind == KeyKind::unsigned_integer) return bits;
  if (kind == KeyKind::signed_integer) return static_cast<U>(bits ^ sign);
  U const infinity = sizeof(U) == 8              ? static_cast<U>(0x7FF0000000000000)
                     : sizeof(U) == 4            ? static_cast<U>(0x7F800000)
                     : kind == KeyKind::bfloat16 ? static_cast<U>(0x7F80)
                                                 : static_cast<U>(0x7C00);
  auto const magnitude = static_cast<U>(bits & static_cast<U>(~sign));
  if (magnitude > infinity) return static_cast<U>(~U{0});
  if (magnitude == 0) return sign;
  return (bits & sign) != 0 ? static_cast<U>(~bits) : static_cast<U>(bits | sign);
}

template <class U>
[[nodiscard]] MEMARRAY_HD U load_bits(std::byte const* keys, std::int64_t i) noexcept {
  U bits;
  std::memcpy(&bits, keys + i * static_cast<std::int64_t>(sizeof(U)), sizeof(U));
  return bits;
}

}  // namespace memarray::detail
