#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// Returns `cast_row` from bool and signed integers.
[[nodiscard]] CastRow cast_row_from_signed(int from, int to);

}  // namespace memarray::detail
