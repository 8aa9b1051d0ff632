#pragma once

#include "cast_rows.hpp"
#include "read_pattern.hpp"

#include <memarray/detail/strided/strided_reduce.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// The order in which a block is added to its accumulators.
enum class ReductionWalk : std::uint8_t {
  columns,  ///< row by row, to a row of accumulators
  runs,     ///< column by column, each to its accumulator
  fold,     ///< column by column, all to one accumulator
  wide,     ///< dense rows of a few columns, several at once
};

/// Elements to accumulate: `rows` for each of `columns`, with byte strides.
struct ReductionBlock {
  std::byte const* source;
  std::int64_t columns;
  std::int64_t column_stride;
  std::int64_t rows;
  std::int64_t row_stride;
  ReadPattern pattern = ReadPattern::interleaved;
};

// A `ReadPattern` matters for runs of at least a page, runs with small gaps, and one element per cache line. All others
// are read interleaved.
inline constexpr std::int64_t page_run = 4096;
inline constexpr std::int64_t small_gap = 256;
[[nodiscard]] constexpr bool has_small_gap(std::int64_t gap) noexcept { return gap >= 0 && gap <= small_gap; }
[[nodiscard]] constexpr bool is_one_of_line(std::int64_t stride) noexcept { return stride >= 64 && stride < 128; }

/// Parameters that turn a total into a result.
struct ReductionEnd {
  bool mean;
  std::int64_t count;   ///< elements in a mean
  std::int64_t repeat;  ///< factor of a sum
};

/// Kernels of a reduction of a dtype. An accumulator takes the elements of one piece; a total takes the accumulators of
/// all pieces, in order.
struct ReductionKernels {
  std::size_t accumulator_size;
  std::size_t total_size;
  /// Size of the elements that `accumulate` reads. `convert` produces them from source elements; null if no conversion
  /// is needed.
  std::size_t element_size;
  CastRow convert;
  /// XOR mask for loaded elements, which turns every extreme into a signed minimum.
  std::uint64_t flip;
  void (*begin)(void* accumulators, std::int64_t columns);
  void (*accumulate)(ReductionWalk walk, void* accumulators, ReductionBlock const& block, std::uint64_t flip);
  void (*begin_total)(void* totals, std::int64_t columns);
  void (*fold)(void* totals, void const* accumulators, std::int64_t columns);
  void (*finish)(void const* totals, ReductionEnd const& end, std::uint64_t flip, std::byte* target,
                 std::int64_t stride, std::int64_t columns);
};

}  // namespace memarray::detail
