#include "reduce_max.hpp"

#include "reduce_extremes.hpp"

namespace memarray::detail {

ReductionKernels max_kernels(int dtype_index) {
  using Make = ReductionKernels (*)();
#define MEMARRAY_ENTRY(type, name, code, bits) extremes<type, false>,
  static constexpr Make table[] = {MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY)};
#undef MEMARRAY_ENTRY
  return table[dtype_index]();
}

}  // namespace memarray::detail
