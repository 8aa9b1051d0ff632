#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// Returns `cast_row` from unsigned integers.
[[nodiscard]] CastRow cast_row_from_unsigned(int from, int to);

}  // namespace memarray::detail
