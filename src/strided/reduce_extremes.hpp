#pragma once

#include "reduce_kernels.hpp"

namespace memarray::detail {

/// Returns the kernels of min or max. `dtype_index`: the position of a shipped dtype in the dtype list.
[[nodiscard]] ReductionKernels extreme_kernels(int dtype_index, bool least);

}  // namespace memarray::detail
