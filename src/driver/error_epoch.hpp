#pragma once

#include <cstdint>

namespace memarray::detail {

/// Returns how often the calling thread's last error was set. A change outdates a stored error text.
[[nodiscard]] std::uint64_t error_epoch() noexcept;

}  // namespace memarray::detail
