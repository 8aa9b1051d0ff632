#pragma once

#include "cast_rows.hpp"

namespace memarray::detail {

/// float32 to float16 and back by the processor's own instructions; null where it has none.
[[nodiscard]] CastRow cast_row_to_half() noexcept;
[[nodiscard]] CastRow cast_row_from_half() noexcept;

}  // namespace memarray::detail
