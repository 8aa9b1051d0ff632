#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// Returns `cast_row` from unsigned integers. Compiled apart, as the conversions take long.
[[nodiscard]] CastRow cast_row_from_unsigned(int from, int to);

}  // namespace memarray::detail
