#pragma once

#include <cstddef>

namespace memarray::simulated {

inline constexpr std::size_t site_capacity = 256;

/// Returns the thread's site from `set_allocation_site`; never null.
[[nodiscard]] char const* current_site() noexcept;
/// Returns the thread's site from `WaitSite`; never null.
[[nodiscard]] char const* current_wait_site() noexcept;

}  // namespace memarray::simulated
