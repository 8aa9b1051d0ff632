#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// Returns `cast_row` from unsigned integers and float16; `from` counts from uint8.
[[nodiscard]] CastRow cast_row_from_middle(int from, int to);

}  // namespace memarray::detail
