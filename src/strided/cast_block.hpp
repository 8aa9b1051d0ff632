#pragma once

#include "cast_rows.hpp"
#include "copy_block.hpp"

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// Elements of a conversion buffer.
inline constexpr std::int64_t cast_capacity = 2048;

/// Copies and converts at most `cast_capacity` elements. `nontemporal`: see `copy_block`.
void cast_block(CastRow cast, CopyBlock const& block, std::size_t to_size, std::size_t from_size, bool nontemporal);

}  // namespace memarray::detail
