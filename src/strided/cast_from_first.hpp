#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// Returns `cast_row` from bool and signed integers; `from` counts from bool.
[[nodiscard]] CastRow cast_row_from_first(int from, int to);

}  // namespace memarray::detail
