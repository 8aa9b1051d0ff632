#pragma once

#include <memarray/driver/driver_table.hpp>

#include <cstddef>

namespace memarray::simulated {

/// A new table of the simulated driver; never destroyed.
[[nodiscard]] DriverTable const* make_table(bool lends_as_cuda);
/// Whether a call can be lost without its caller seeing it: it has nothing to give.
[[nodiscard]] bool can_be_dropped(std::size_t function) noexcept;

}  // namespace memarray::simulated
