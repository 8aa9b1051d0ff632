#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// Returns `cast_row` from floating-point and complex numbers.
[[nodiscard]] CastRow cast_row_from_floats(int from, int to);

}  // namespace memarray::detail
