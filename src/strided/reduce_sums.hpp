#pragma once

#include "reduce_block.hpp"

namespace memarray::detail {

/// Returns the kernels of a sum or mean for a position in the dtype list. Complex numbers are summed by parts.
[[nodiscard]] ReductionKernels sum_kernels(int dtype_index, bool mean);

}  // namespace memarray::detail
