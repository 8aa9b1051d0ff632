#pragma once

#include "copy_block.hpp"

#include <cstddef>

namespace memarray::detail {

/// Copies a block whose source lies across its target: `source_row` and `target_column` are one element. `nontemporal`:
/// uses non-temporal stores because the target will not be read soon; the caller calls `end_nontemporal_stores`
/// afterwards.
void transpose_block(CopyBlock const& block, std::size_t itemsize, bool nontemporal);

}  // namespace memarray::detail
