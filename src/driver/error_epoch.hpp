#pragma once

#include <cstdint>

namespace memarray::detail {

/// Returns how often the calling thread's last error was set. A change means that a stored error text is outdated.
[[nodiscard]] std::uint64_t error_epoch() noexcept;

}  // namespace memarray::detail
