#include "reduce_sum.hpp"

#include "reduce_sums.hpp"

namespace memarray::detail {

ReductionKernels sum_kernels(int dtype_index) {
  using Make = ReductionKernels (*)();
#define MEMARRAY_ENTRY(type, name, code, bits) sums<type>,
  static constexpr Make table[] = {MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY)};
#undef MEMARRAY_ENTRY
  return table[dtype_index]();
}

}  // namespace memarray::detail
