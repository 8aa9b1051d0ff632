#pragma once

#include <cstdint>

namespace memarray::detail {

/// Counts how often the thread's last error was set: a change outdates a stored error text.
[[nodiscard]] std::uint64_t error_epoch() noexcept;

}  // namespace memarray::detail
