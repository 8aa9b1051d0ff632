#pragma once

#include <cstddef>

namespace memarray::simulated {

inline constexpr std::size_t site_capacity = 128;

/// Words for where the calling thread makes resources, as `set_allocation_site` gave them; never null.
[[nodiscard]] char const* current_site() noexcept;

}  // namespace memarray::simulated
