#pragma once

#include <memarray/driver/driver_table.hpp>

#include <cstddef>

namespace memarray::simulated {

/// The table is never destroyed.
[[nodiscard]] DriverTable const* make_table(bool exports_as_cuda);
/// True unless the function has an output parameter or launches kernels.
[[nodiscard]] bool can_be_dropped(std::size_t function) noexcept;

}  // namespace memarray::simulated
