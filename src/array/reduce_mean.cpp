#include "reduce_mean.hpp"

#include "reduce_sums.hpp"

namespace memarray::detail {

ReductionKernels mean_kernels(int dtype_index) {
  using Make = ReductionKernels (*)(int);
#define MEMARRAY_ENTRY(type, name, code, bits) means<type>,
  static constexpr Make table[] = {MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY)};
#undef MEMARRAY_ENTRY
  return table[dtype_index](dtype_index);
}

}  // namespace memarray::detail
