#pragma once

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// Converts `count` elements that follow one another on both sides.
using CastRow = void (*)(std::byte const* source, std::byte* target, std::int64_t count);

/// For shipped dtypes, by their places in the list.
[[nodiscard]] CastRow cast_row(int from, int to);

}  // namespace memarray::detail
