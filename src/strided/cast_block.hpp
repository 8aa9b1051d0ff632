#pragma once

#include "cast_rows.hpp"
#include "copy_block.hpp"

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// Elements that are converted at a time. They go through buffers if they are not adjacent.
inline constexpr std::int64_t cast_elements = 2048;

/// Copies a block of at most `cast_elements` elements and converts each. `nontemporal` is as for `copy_block`.
void cast_block(CastRow cast, CopyBlock const& block, std::size_t to_size, std::size_t from_size, bool nontemporal);

}  // namespace memarray::detail
