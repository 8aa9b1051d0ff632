#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// `cast_row` for the middle third of `from`, counted from its beginning.
[[nodiscard]] CastRow cast_row_from_middle(int from, int to);

}  // namespace memarray::detail
