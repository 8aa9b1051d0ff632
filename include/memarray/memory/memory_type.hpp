#pragma once

#include <cstdint>
#include <string_view>

namespace memarray {

/// The processors that can access memory.
enum class MemoryType : std::uint8_t {
  normal,   ///< the host
  pinned,   ///< the host, page-locked for asynchronous copies
  unified,  ///< host and devices
  device,   ///< one device
};

[[nodiscard]] constexpr std::string_view to_string(MemoryType type) noexcept {
  switch (type) {
    case MemoryType::normal: return "normal";
    case MemoryType::pinned: return "pinned";
    case MemoryType::unified: return "unified";
    case MemoryType::device: break;
  }
  return "device";
}

/// True if the host can read and write the memory.
[[nodiscard]] constexpr bool is_host_accessible(MemoryType type) noexcept { return type != MemoryType::device; }

}  // namespace memarray
