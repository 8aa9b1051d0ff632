#pragma once

#include "reduce_kernels.hpp"

namespace memarray::detail {

/// The least. `dtype_index`: the place of a shipped dtype in the list.
[[nodiscard]] ReductionKernels min_kernels(int dtype_index);

}  // namespace memarray::detail
