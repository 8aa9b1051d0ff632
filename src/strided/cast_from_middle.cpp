#include "cast_from_middle.hpp"

#include "cast_loops.hpp"

namespace memarray::detail {

CastRow cast_row_from_middle(int from, int to) {
  using Find = CastRow (*)(int);
  static constexpr Find table[] = {cast_row_to<std::uint8_t>, cast_row_to<std::uint16_t>, cast_row_to<std::uint32_t>,
                                   cast_row_to<std::uint64_t>, cast_row_to<float16>};
  return table[from](to);
}

}  // namespace memarray::detail
