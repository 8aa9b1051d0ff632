#pragma once

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

enum class KeyKind : std::uint8_t { unsigned_integer, signed_integer, floating, bfloat16 };

/// Keys with values, to sort by key. Each source equals its target, or is apart.
struct KeySort {
  std::int64_t size;
  KeyKind kind;
  std::size_t key_bytes;    ///< 1, 2, 4 or 8
  std::size_t value_bytes;  ///< of a key's value
  std::byte const* keys;
  std::byte* sorted_keys;
  std::byte const* values;
  std::byte* sorted_values;
};

}  // namespace memarray::detail
