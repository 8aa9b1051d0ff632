#pragma once

#include <memarray/base/shape.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace memarray::detail {

/// How an array is walked to add index sums: units of `block` elements, in rows of `extent` units.
///
/// Trailing dimensions that are too short for a loop of their own are one block, whose index sums are written down
/// once for several blocks in a row (`pattern`); without such dimensions a unit is one element, and sums are a ramp.
struct RowsPlan {
  std::int64_t units = 0;
  std::int64_t extent = 1;  ///< units in a row
  std::int64_t block = 1;   ///< elements in a unit
  std::int64_t rows_in_pattern = 0;
  bool fits_32_bits = false;        ///< every index sum does
  bool past_caches = false;         ///< fresh memory too large for them is written past them, without being read first
  std::vector<std::int64_t> outer;  ///< extents of the dimensions before
  std::vector<std::int32_t> pattern;
};

[[nodiscard]] RowsPlan plan_rows(Extents shape);

/// Adds index sums to the units in [begin, end). `source` and `target` are the same or do not overlap.
template <class T, class Index>
using RowsFunction = void (*)(RowsPlan const& plan, T const* source, T* target, std::int64_t begin, std::int64_t end);

/// The one for this processor.
template <class T, class Index>
[[nodiscard]] RowsFunction<T, Index> rows_function() noexcept;

}  // namespace memarray::detail
