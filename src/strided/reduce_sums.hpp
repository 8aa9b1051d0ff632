#pragma once

#include "reduce_kernels.hpp"

namespace memarray::detail {

/// Sums and means. `dtype_index`: the place of a shipped dtype in the list; complex numbers are summed by parts.
[[nodiscard]] ReductionKernels sum_kernels(int dtype_index, bool mean);

}  // namespace memarray::detail
