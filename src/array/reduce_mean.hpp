#pragma once

#include "reduce_kernels.hpp"

namespace memarray::detail {

/// Means; of complex numbers, of their parts. `dtype_index`: the place of a shipped dtype in the list.
[[nodiscard]] ReductionKernels mean_kernels(int dtype_index);

}  // namespace memarray::detail
