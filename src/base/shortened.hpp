#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memarray::detail {

/// Returns UTF-8 text of at most `most` bytes, cut between characters, then with "..." at its end.
[[nodiscard]] inline std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace memarray::detail
