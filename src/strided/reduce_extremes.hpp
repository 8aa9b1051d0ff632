#pragma once

#include "reduce_block.hpp"

namespace memarray::detail {

/// Returns the kernels of min (`least`) or max for a position in the dtype list.
[[nodiscard]] ReductionKernels extreme_kernels(int dtype_index, bool least);

}  // namespace memarray::detail
