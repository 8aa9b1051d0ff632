#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// Returns `cast_row` from bfloat16, float32, float64 and complex numbers; `from` counts from bfloat16.
[[nodiscard]] CastRow cast_row_from_last(int from, int to);

}  // namespace memarray::detail
