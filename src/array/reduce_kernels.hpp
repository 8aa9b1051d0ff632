#pragma once

#include <memarray/array/loop_nest.hpp>
#include <memarray/array/strided_reduce.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// Elements to add to a row of accumulators: `rows` for each of `columns`. Bytes from one to the next of each.
struct ReductionBlock {
  std::byte const* source;
  std::int64_t columns;
  std::int64_t column_stride;
  std::int64_t rows;
  std::int64_t row_stride;
};

/// What the sum over all pieces is made of at the end.
struct ReductionEnd {
  bool mean;
  std::int64_t count;   ///< elements in a mean
  std::int64_t repeat;  ///< how often a sum has met each
};

/// One reduction of one dtype, for the vectors of this processor. Partial results are kept twice: an accumulator takes
/// the elements of one piece, a total the accumulators of all, in the order of the pieces.
struct ReductionKernels {
  std::size_t accumulator_size;
  std::size_t total_size;
  void (*begin)(void* accumulators, std::int64_t columns);
  void (*accumulate)(LoopKernel kernel, void* accumulators, ReductionBlock const& block);
  /// Makes one of several accumulators, which are lost.
  void (*collapse)(void* accumulators, std::int64_t columns, void* into);
  void (*begin_total)(void* totals, std::int64_t columns);
  void (*fold)(void* totals, void const* accumulators, std::int64_t columns);
  void (*finish)(void const* totals, ReductionEnd const& end, std::byte* target, std::int64_t stride,
                 std::int64_t columns);
};

}  // namespace memarray::detail
