#include "cast_unsigned.hpp"

#include "cast_loops.hpp"

namespace memarray::detail {

CastRow cast_row_from_unsigned(int from, int to) { return cast_row_from<CastGroup::unsigned_integers>(from, to); }

}  // namespace memarray::detail
