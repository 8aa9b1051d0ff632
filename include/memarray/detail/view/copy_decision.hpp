#pragma once

#include <cstdint>

namespace memarray::detail {

/// How an operation gets at the elements of a view (seed 004's tree).
enum class CopyDecision : std::uint8_t {
  as_it_is,  ///< dense, where it is wanted: nothing to do
  strided,   ///< not dense, but the kernel takes strides: nothing to do either
  copy,      ///< not dense, and nobody takes it so: made dense, which is reported
  transfer,  ///< on another device: brought there, dense, which is reported
};

/// `same_device`: it is where the operation runs, or can be reached from there; `takes_strides`: there is a kernel for
/// any strides.
[[nodiscard]] constexpr CopyDecision decide_copy(bool same_device, bool is_contiguous, bool takes_strides) noexcept {
  if (!same_device) return CopyDecision::transfer;
  if (is_contiguous) return CopyDecision::as_it_is;
  return takes_strides ? CopyDecision::strided : CopyDecision::copy;
}

[[nodiscard]] constexpr bool copies(CopyDecision decision) noexcept {
  return decision == CopyDecision::copy || decision == CopyDecision::transfer;
}

}  // namespace memarray::detail
