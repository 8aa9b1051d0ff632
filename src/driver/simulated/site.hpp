#pragma once

#include <cstddef>

namespace memarray::simulated {

inline constexpr std::size_t site_capacity = 256;

/// Set by `set_allocation_site`; never null.
[[nodiscard]] char const* current_site() noexcept;
/// Set by `WaitSite`; never null.
[[nodiscard]] char const* current_wait_site() noexcept;

}  // namespace memarray::simulated
