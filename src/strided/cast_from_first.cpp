#include "cast_from_first.hpp"

#include "cast_loops.hpp"

namespace memarray::detail {

CastRow cast_row_from_first(int from, int to) {
  using Find = CastRow (*)(int);
  static constexpr Find table[] = {cast_row_to<bool>, cast_row_to<std::int8_t>, cast_row_to<std::int16_t>,
                                   cast_row_to<std::int32_t>, cast_row_to<std::int64_t>};
  return table[from](to);
}

}  // namespace memarray::detail
