#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// Returns the conversion from float32 to float16, or back, by F16C instructions; null if the processor has none.
[[nodiscard]] CastRow cast_row_to_half() noexcept;
[[nodiscard]] CastRow cast_row_from_half() noexcept;

}  // namespace memarray::detail
