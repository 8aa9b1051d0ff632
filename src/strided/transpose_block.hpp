#pragma once

#include "copy_block.hpp"

#include <cstddef>

namespace memarray::detail {

/// Copies a block whose `source_row` and `target_column` are one element. `nontemporal` is as for `copy_block`.
void transpose_block(CopyBlock const& block, std::size_t itemsize, bool nontemporal);

}  // namespace memarray::detail
