#pragma once

#include <memarray/driver/driver_table.hpp>

#include <cstddef>

namespace memarray::simulated {

/// Creates a function table, which is never destroyed.
[[nodiscard]] DriverTable const* make_table(bool exports_as_cuda);
/// True if the function returns nothing but a code.
[[nodiscard]] bool can_be_dropped(std::size_t function) noexcept;

}  // namespace memarray::simulated
