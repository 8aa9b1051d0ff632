#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "hidden.hpp"

namespace memarray::simulated {

inline constexpr unsigned char new_byte = 0xCD;
inline constexpr unsigned char freed_byte = 0xDB;

/// Fills new memory, so that reads of unwritten memory show. Only the first MiB, because filling much memory is slow.
inline void poison_new(std::byte* begin, std::size_t bytes) noexcept {
  Visible const visible;
  std::memset(begin, new_byte, std::min(bytes, std::size_t{1} << 20));
}

/// Fills freed memory, so that use after the free shows.
inline void poison_freed(std::byte* begin, std::size_t bytes) noexcept {
  Visible const visible;
  std::memset(begin, freed_byte, bytes);
}

}  // namespace memarray::simulated
