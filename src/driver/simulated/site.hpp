#pragma once

#include <cstddef>

namespace memarray::simulated {

inline constexpr std::size_t site_capacity = 256;

/// Words for where the calling thread makes resources, as `set_allocation_site` gave them; never null.
[[nodiscard]] char const* current_site() noexcept;
/// Where the calling thread waits, as `WaitSite` says; never null.
[[nodiscard]] char const* current_wait_site() noexcept;

}  // namespace memarray::simulated
