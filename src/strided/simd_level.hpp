#pragma once

#include <memarray/base/config.hpp>

namespace memarray::detail {

/// Vectors of host loops: the processor's widest, up to a limit that tests lower.
enum class SimdLevel : int { baseline, avx2, avx512 };
[[nodiscard]] MEMARRAY_API SimdLevel widest_simd_level() noexcept;
/// Sets the limit and returns the previous one.
MEMARRAY_API SimdLevel limit_simd_level(SimdLevel most) noexcept;

}  // namespace memarray::detail
