#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// Returns the F16C conversion from float32, or back; null if the processor lacks F16C.
[[nodiscard]] CastRow cast_row_to_half() noexcept;
[[nodiscard]] CastRow cast_row_from_half() noexcept;

}  // namespace memarray::detail
