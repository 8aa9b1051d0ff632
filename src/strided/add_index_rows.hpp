#pragma once

#include <memarray/base/shape.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace memarray::detail {

/// The walk over an array that adds index sums: units of `block` elements, in rows of `extent` units.
///
/// Trailing dimensions that are too short for their own loop form one block. `pattern` holds the index sums of several
/// consecutive blocks. Without such dimensions a unit is one element, and the sums of a row are a ramp.
struct RowsPlan {
  std::int64_t units = 0;
  std::int64_t extent = 1;  ///< units in a row
  std::int64_t block = 1;   ///< elements in a unit
  std::int64_t rows_in_pattern = 0;
  bool fits_32_bits = false;        ///< every index sum fits into 32 bits
  bool nontemporal = false;         ///< non-temporal stores: fresh memory larger than the caches is not read first
  std::vector<std::int64_t> outer;  ///< extents of the leading dimensions
  std::vector<std::int32_t> pattern;
};

[[nodiscard]] RowsPlan plan_rows(Extents shape);

/// A function that adds index sums to the units in [begin, end). `source` and `target` are equal or do not overlap.
template <class T, class Index>
using RowsFunction = void (*)(RowsPlan const& plan, T const* source, T* target, std::int64_t begin, std::int64_t end);

/// Returns the function for this processor.
template <class T, class Index>
[[nodiscard]] RowsFunction<T, Index> rows_function() noexcept;

}  // namespace memarray::detail
