#pragma once

#include "cast_rows.hpp"
#include "read_pattern.hpp"

#include <memarray/detail/strided/strided_reduce.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// The order in which a block is added to its accumulators.
enum class ReductionWalk : std::uint8_t {
  columns,  ///< row by row to a row of accumulators
  runs,     ///< the rows of each column in turn, to that column's accumulator
  fold,     ///< the rows of each column in turn, all to one accumulator
  wide,     ///< dense rows of a few columns, several at once
};

/// Elements to add to accumulators: `rows` for each of `columns`. Strides are in bytes.
struct ReductionBlock {
  std::byte const* source;
  std::int64_t columns;
  std::int64_t column_stride;
  std::int64_t rows;
  std::int64_t row_stride;
  ReadPattern pattern = ReadPattern::interleaved;
};

// A `ReadPattern` matters for runs of at least a page, runs with small gaps between them, and elements of which a
// cache line holds one. All others are read in eight places, prefetched.
inline constexpr std::int64_t page_run = 4096;
inline constexpr std::int64_t small_gap = 256;
[[nodiscard]] constexpr bool has_small_gap(std::int64_t gap) noexcept { return gap >= 0 && gap <= small_gap; }
[[nodiscard]] constexpr bool is_one_of_line(std::int64_t stride) noexcept { return stride >= 64 && stride < 128; }

/// Parameters for turning a total into a result.
struct ReductionEnd {
  bool mean;
  std::int64_t count;   ///< elements in a mean
  std::int64_t repeat;  ///< how often a sum counts each element
};

/// The kernels of one reduction for one dtype. Partial results have two levels: an accumulator takes the elements of
/// one piece; a total takes the accumulators of all pieces, in order.
struct ReductionKernels {
  std::size_t accumulator_size;
  std::size_t total_size;
  /// Size of the elements that `accumulate` reads. `convert` produces them from source elements; null if no conversion
  /// is needed.
  std::size_t element_size;
  CastRow convert;
  /// XOR mask applied to each element on load, so that every extreme becomes a signed minimum.
  std::uint64_t flip;
  void (*begin)(void* accumulators, std::int64_t columns);
  void (*accumulate)(ReductionWalk walk, void* accumulators, ReductionBlock const& block, std::uint64_t flip);
  void (*begin_total)(void* totals, std::int64_t columns);
  void (*fold)(void* totals, void const* accumulators, std::int64_t columns);
  void (*finish)(void const* totals, ReductionEnd const& end, std::uint64_t flip, std::byte* target,
                 std::int64_t stride, std::int64_t columns);
};

}  // namespace memarray::detail
