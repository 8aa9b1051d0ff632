#pragma once

#include "cast_rows.hpp"
#include "reading_order.hpp"

#include <memarray/detail/strided/strided_reduce.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// How a block is added to its accumulators.
enum class ReductionWalk : std::uint8_t {
  columns,  ///< row by row to a row of accumulators
  runs,     ///< the rows of each column in turn, to an accumulator for each column
  fold,     ///< the same, all to one accumulator
  wide,     ///< dense rows of a few columns, several at once
};

/// Elements to add to accumulators: `rows` for each of `columns`. Bytes from one to the next of each.
struct ReductionBlock {
  std::byte const* source;
  std::int64_t columns;
  std::int64_t column_stride;
  std::int64_t rows;
  std::int64_t row_stride;
  ReadingOrder::Way way = ReadingOrder::Way::side_by_side;
};

// Where a `ReadingOrder::Way` makes a difference: runs of at least a page, runs with small gaps between them, and
// elements of which a line has one. All others are read in eight places, prefetched.
inline constexpr std::int64_t page_run = 4096;
inline constexpr std::int64_t small_gap = 256;
[[nodiscard]] constexpr bool has_small_gap(std::int64_t gap) noexcept { return gap >= 0 && gap <= small_gap; }
[[nodiscard]] constexpr bool is_one_of_line(std::int64_t stride) noexcept { return stride >= 64 && stride < 128; }

/// What the sum over all pieces is made of at the end.
struct ReductionEnd {
  bool mean;
  std::int64_t count;   ///< elements in a mean
  std::int64_t repeat;  ///< how often a sum has met each
};

/// One reduction of one dtype. Partial results are kept twice: an accumulator takes the elements of one piece, a total
/// the accumulators of all, in the order of the pieces.
struct ReductionKernels {
  std::size_t accumulator_size;
  std::size_t total_size;
  /// Of the elements that `accumulate` takes, and what makes them of the source's, or null where they are those.
  std::size_t element_size;
  CastRow convert;
  /// Bits that are turned in each element, so that the least of what comes out is what is wanted.
  std::uint64_t flip;
  void (*begin)(void* accumulators, std::int64_t columns);
  void (*accumulate)(ReductionWalk walk, void* accumulators, ReductionBlock const& block, std::uint64_t flip);
  void (*begin_total)(void* totals, std::int64_t columns);
  void (*fold)(void* totals, void const* accumulators, std::int64_t columns);
  void (*finish)(void const* totals, ReductionEnd const& end, std::uint64_t flip, std::byte* target,
                 std::int64_t stride, std::int64_t columns);
};

}  // namespace memarray::detail
