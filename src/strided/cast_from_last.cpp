#include "cast_from_last.hpp"

#include "cast_loops.hpp"

namespace memarray::detail {

CastRow cast_row_from_last(int from, int to) {
  using Find = CastRow (*)(int);
  static constexpr Find table[] = {cast_row_to<bfloat16>, cast_row_to<float>, cast_row_to<double>,
                                   cast_row_to<std::complex<float>>, cast_row_to<std::complex<double>>};
  return table[from](to);
}

}  // namespace memarray::detail
