#include "cast_floats.hpp"

#include "cast_loops.hpp"

namespace memarray::detail {

CastRow cast_row_from_floats(int from, int to) { return cast_row_from<CastGroup::floats>(from, to); }

}  // namespace memarray::detail
