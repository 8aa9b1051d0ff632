#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "hidden.hpp"

namespace memarray::simulated {

inline constexpr unsigned char new_byte = 0xCD;
inline constexpr unsigned char freed_byte = 0xDB;

/// Makes reads of unwritten memory show. Fills only the first MiB, because more is slow.
inline void poison_new(std::byte* begin, std::size_t bytes) noexcept {
  Visible const visible;
  std::memset(begin, new_byte, std::min(bytes, std::size_t{1} << 20));
}

/// Makes use after the free show.
inline void poison_freed(std::byte* begin, std::size_t bytes) noexcept {
  Visible const visible;
  std::memset(begin, freed_byte, bytes);
}

}  // namespace memarray::simulated
