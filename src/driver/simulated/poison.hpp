#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "hidden.hpp"

namespace memarray::simulated {

inline constexpr unsigned char new_byte = 0xCD;
inline constexpr unsigned char freed_byte = 0xDB;

/// Exposes reads of unwritten memory. Fills only the first MiB: more is slow.
inline void poison_new(std::byte* begin, std::size_t bytes) noexcept {
  Visible const visible;
  std::memset(begin, new_byte, std::min(bytes, std::size_t{1} << 20));
}

/// Exposes use after the free.
inline void poison_freed(std::byte* begin, std::size_t bytes) noexcept {
  Visible const visible;
  std::memset(begin, freed_byte, bytes);
}

}  // namespace memarray::simulated
