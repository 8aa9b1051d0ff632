#pragma once

#include <memarray/base/shape.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace memarray::detail {

/// A walk that adds index sums: rows of `extent` units of `block` elements. Trailing dimensions too short for a loop
/// form a block; `pattern` has the index sums of several. Otherwise a unit is an element, and a row's sums are a ramp.
struct RowsPlan {
  std::int64_t units = 0;
  std::int64_t extent = 1;
  std::int64_t block = 1;
  std::int64_t rows_in_pattern = 0;
  bool fits_32_bits = false;        ///< for every index sum
  bool nontemporal = false;         ///< for fresh memory larger than the caches
  std::vector<std::int64_t> outer;  ///< extents of the leading dimensions
  std::vector<std::int32_t> pattern;
};

[[nodiscard]] RowsPlan plan_rows(Extents shape);

/// A kernel for the units in [begin, end). `source` and `target` are equal or do not overlap.
template <class T, class Index>
using RowsFunction = void (*)(RowsPlan const& plan, T const* source, T* target, std::int64_t begin, std::int64_t end);

/// Returns the function for this processor.
template <class T, class Index>
[[nodiscard]] RowsFunction<T, Index> rows_function() noexcept;

}  // namespace memarray::detail
