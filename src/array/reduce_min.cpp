#include "reduce_min.hpp"

#include "reduce_extremes.hpp"

namespace memarray::detail {

ReductionKernels min_kernels(int dtype_index) {
  using Make = ReductionKernels (*)();
#define MEMARRAY_ENTRY(type, name, code, bits) extremes<type, true>,
  static constexpr Make table[] = {MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY)};
#undef MEMARRAY_ENTRY
  return table[dtype_index]();
}

}  // namespace memarray::detail
