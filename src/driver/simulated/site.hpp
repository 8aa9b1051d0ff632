#pragma once

#include <cstddef>

namespace memarray::simulated {

inline constexpr std::size_t site_capacity = 256;

/// Returns the calling thread's allocation site, as set by `set_allocation_site`; never null.
[[nodiscard]] char const* current_site() noexcept;
/// Returns the calling thread's wait site, as set by `WaitSite`; never null.
[[nodiscard]] char const* current_wait_site() noexcept;

}  // namespace memarray::simulated
