#pragma once

#include <cstddef>
#include <cstdint>

#include "free_ranges.hpp"
#include "guard.hpp"

namespace memarray::simulated {

inline constexpr std::size_t granularity = 512;  // bytes

/// One device's memory: a memory file mapped twice, inaccessible for programs, accessible for copies and kernels.
class Arena {
 public:
  /// Throws `std::system_error`.
  Arena(int device, std::size_t bytes, std::uint32_t session, bool go_on, TouchLog& log);
  ~Arena();
  Arena(Arena const&) = delete;
  Arena& operator=(Arena const&) = delete;

  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept {
    return address >= _begin && address - _begin < _bytes;
  }
  /// Maps a program's address to the accessible one.
  [[nodiscard]] std::byte* reach(std::uintptr_t address) const noexcept { return _reach + (address - _begin); }
  [[nodiscard]] std::size_t bytes() const noexcept { return _bytes; }

  FreeRanges free;
  AllocationTable table;

 private:
  std::size_t const _bytes;
  std::uintptr_t _begin = 0;
  std::byte* _reach = nullptr;
  std::size_t _guard = 0;
};

}  // namespace memarray::simulated
