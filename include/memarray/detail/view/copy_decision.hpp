#pragma once

#include <cstdint>

namespace memarray::detail {

enum class CopyDecision : std::uint8_t {
  as_it_is,  ///< dense, on the requested device
  strided,   ///< the operation accepts strides
  copy,      ///< reported: the operation needs dense memory
  transfer,  ///< reported: dense, from another device
};

/// `takes_strides`: the operation has a kernel for any strides.
[[nodiscard]] constexpr CopyDecision decide_copy(bool same_device, bool is_contiguous, bool takes_strides) noexcept {
  if (!same_device) return CopyDecision::transfer;
  if (is_contiguous) return CopyDecision::as_it_is;
  return takes_strides ? CopyDecision::strided : CopyDecision::copy;
}

[[nodiscard]] constexpr bool copies(CopyDecision decision) noexcept {
  return decision == CopyDecision::copy || decision == CopyDecision::transfer;
}

}  // namespace memarray::detail
