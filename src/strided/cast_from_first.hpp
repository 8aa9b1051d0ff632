#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// `cast_row` for the first third of `from`, counted from its beginning.
[[nodiscard]] CastRow cast_row_from_first(int from, int to);

}  // namespace memarray::detail
