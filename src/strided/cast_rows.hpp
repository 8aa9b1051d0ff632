#pragma once

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// A function that converts `count` elements, adjacent on both sides.
using CastRow = void (*)(std::byte const* source, std::byte* target, std::int64_t count);

/// Returns the conversion between shipped dtypes, given by their positions in the dtype list.
[[nodiscard]] CastRow cast_row(int from, int to);

}  // namespace memarray::detail
