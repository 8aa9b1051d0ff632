#pragma once

#include "reduce_kernels.hpp"

namespace memarray::detail {

/// The least or the largest. `dtype_index`: the place of a shipped dtype in the list.
[[nodiscard]] ReductionKernels extreme_kernels(int dtype_index, bool least);

}  // namespace memarray::detail
