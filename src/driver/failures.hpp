#pragma once

#include <cstdint>

namespace memarray::detail {

/// How often the calling thread's last error was set: whether words belong to it still.
[[nodiscard]] std::uint64_t failures() noexcept;

}  // namespace memarray::detail
