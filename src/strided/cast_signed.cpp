#include "cast_signed.hpp"

#include "cast_loops.hpp"

namespace memarray::detail {

CastRow cast_row_from_signed(int from, int to) { return cast_row_from<CastGroup::signed_integers>(from, to); }

}  // namespace memarray::detail
