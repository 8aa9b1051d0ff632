#pragma once

#include "reduce_block.hpp"
#include "reduce_rows.hpp"

#include <memarray/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

// Walks over blocks, for an `Op` of `reduce_rows.hpp`. Without `has_rows`, it takes element by element.
namespace memarray::detail {

template <class Op>
using AccumulatorOf = typename Op::Accumulator;

template <class Op>
MEMARRAY_ALWAYS_INLINE AccumulatorOf<Op> element_at(std::byte const* address, std::uint64_t flip) {
  return Op::load(*reinterpret_cast<typename Op::Element const*>(address), flip);
}

/// True for floats, which have loops for every second element and for runs of a few elements.
template <class Op>
inline constexpr bool has_pairs = Op::has_rows && std::is_floating_point_v<typename Op::Element>;

// Bytes of each stream of a long run.
inline constexpr std::int64_t stream_bytes = 32768;
// Shorter runs are read in one stream.
inline constexpr std::int64_t short_run_bytes = 16384;

/// Combines accumulators in a tree, overwriting them.
template <class Op>
AccumulatorOf<Op> combined(AccumulatorOf<Op>* kept, std::int64_t count) {
  for (; count > 1; count = (count + 1) / 2)
    for (std::int64_t i = 0; i < count / 2; ++i) kept[i] = Op::combine(kept[i], kept[i + (count + 1) / 2]);
  return kept[0];
}

/// Returns the elements of a lane. Runs are cut, repeatedly, into `lanes` lanes, read side by side.
[[nodiscard]] inline std::int64_t lane_of(std::int64_t rows, std::int64_t stride, std::int64_t lanes) noexcept {
  constexpr std::int64_t least = 64;
  return std::min(rows / lanes, std::max(least, stream_bytes / std::max<std::int64_t>(1, stride)));
}

// Elements added one after the other: more would accumulate rounding errors.
inline constexpr std::int64_t most_in_a_row = 256;

/// Folds eight runs, one after the other, with the additions of `fold_streams`.
template <class Op>
void fold_sequentially(AccumulatorOf<Op>* results, std::byte const* source, std::int64_t stream_stride,
                       std::int64_t rows, std::int64_t stride, std::uint64_t flip) {
  for (std::int64_t s = 0; s < streams; ++s)
    for (std::int64_t first = 0; first < rows; first += most_in_a_row) {
      AccumulatorOf<Op> kept = Op::nothing();
      for (std::int64_t i = first; i < std::min(rows, first + most_in_a_row); ++i)
        kept = Op::combine(kept, element_at<Op>(source + s * stream_stride + i * stride, flip));
      results[s] = Op::combine(results[s], kept);
    }
}

/// Folds eight runs of any stride, each to its own result. `jump`: bytes from a run's end to its stream's next run.
template <class Op>
void fold_streams(AccumulatorOf<Op>* results, std::byte const* source, std::int64_t stream_stride, std::int64_t rows,
                  std::int64_t stride, std::int64_t jump, std::uint64_t flip, ReadPattern pattern) {
  // Sequential reads pay only for one element per cache line: denser runs need eight additions at a time, sparser ones
  // eight places.
  if (pattern == ReadPattern::sequential && is_one_of_line(stride))
    return fold_sequentially<Op>(results, source, stream_stride, rows, stride, flip);
  std::int64_t const ahead = std::max<std::int64_t>(4 * stride, prefetch_ahead);
  for (std::int64_t first = 0; first < rows; first += most_in_a_row) {
    AccumulatorOf<Op> kept[streams];
    std::fill_n(kept, streams, Op::nothing());
    for (std::int64_t i = first; i < std::min(rows, first + most_in_a_row); ++i) {
      std::byte const* const at = source + i * stride;
      std::byte const* const next = at + ahead + (i * stride + ahead < rows * stride ? 0 : jump);
#pragma GCC unroll 8
      for (std::int64_t s = 0; s < streams; ++s) {
        __builtin_prefetch(next + s * stream_stride);
        kept[s] = Op::combine(kept[s], element_at<Op>(at + s * stream_stride, flip));
      }
    }
    for (std::int64_t s = 0; s < streams; ++s) results[s] = Op::combine(results[s], kept[s]);
  }
}

template <class Op>
AccumulatorOf<Op> fold_strided(std::byte const* source, std::int64_t rows, std::int64_t stride, std::uint64_t flip,
                               ReadPattern pattern) {
  AccumulatorOf<Op> kept[streams];
  std::fill_n(kept, streams, Op::nothing());
  while (rows >= streams) {
    std::int64_t const lane = lane_of(rows, stride, streams);
    fold_streams<Op>(kept, source, lane * stride, lane, stride, (streams - 1) * lane * stride, flip, pattern);
    source += streams * lane * stride;
    rows -= streams * lane;
  }
  for (std::int64_t i = 0; i < rows; ++i) kept[i] = Op::combine(kept[i], element_at<Op>(source + i * stride, flip));
  return combined<Op>(kept, streams);
}

/// Folds a few runs side by side, row by row.
template <class Op, std::int64_t columns>
void fold_few(AccumulatorOf<Op>* results, ReductionBlock const& block, std::uint64_t flip) {
  constexpr std::int64_t lanes = 4;
  AccumulatorOf<Op> kept[static_cast<std::size_t>(lanes)][static_cast<std::size_t>(columns)];
  for (auto& lane : kept) std::fill_n(lane, columns, Op::nothing());
  std::byte const* source = block.source;
  std::int64_t rows = block.rows;
  auto const add = [&](AccumulatorOf<Op>* to, std::byte const* row) {
#pragma GCC unroll 4
    for (std::int64_t j = 0; j < columns; ++j)
      to[j] = Op::combine(to[j], element_at<Op>(row + j * block.column_stride, flip));
  };
  std::int64_t const ahead = std::max<std::int64_t>(4 * block.row_stride, prefetch_ahead);
  while (rows >= lanes) {
    std::int64_t const lane = lane_of(rows, block.row_stride, lanes);
    std::int64_t const lane_stride = lane * block.row_stride;
    for (std::int64_t i = 0; i < lane; ++i) {
      std::byte const* const at = source + i * block.row_stride;
      std::byte const* const next = at + ahead + (i * block.row_stride + ahead < lane_stride ? 0 : 3 * lane_stride);
#pragma GCC unroll 4
      for (std::int64_t l = 0; l < lanes; ++l) {
        if (block.pattern == ReadPattern::interleaved) __builtin_prefetch(next + l * lane_stride);
        add(kept[l], at + l * lane_stride);
      }
    }
    source += lanes * lane_stride;
    rows -= lanes * lane;
  }
  for (; rows > 0; --rows, source += block.row_stride) add(kept[0], source);
  for (std::int64_t j = 0; j < columns; ++j)
    results[j] =
        Op::combine(results[j], Op::combine(Op::combine(kept[0][j], kept[1][j]), Op::combine(kept[2][j], kept[3][j])));
}

template <class Op, std::int64_t rows>
void add_strided(AccumulatorOf<Op>* __restrict results, ReductionBlock const& block, std::uint64_t flip) {
  for (std::int64_t j = 0; j < block.columns; ++j) {
    std::byte const* const at = block.source + j * block.column_stride;
    AccumulatorOf<Op> kept = results[j];
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < rows; ++r) {
      if constexpr (rows == 4) __builtin_prefetch(at + r * block.row_stride + prefetch_ahead);
      kept = Op::combine(kept, element_at<Op>(at + r * block.row_stride, flip));
    }
    results[j] = kept;
  }
}

/// Adds adjacent runs of `rows` adjacent elements.
template <class Op, std::int64_t rows>
void add_short_runs(AccumulatorOf<Op>* __restrict results, ReductionBlock const& block, std::uint64_t flip) {
  auto const* __restrict const elements = reinterpret_cast<typename Op::Element const*>(block.source);
  for (std::int64_t j = 0; j < block.columns; ++j) {
    AccumulatorOf<Op> run = Op::load(elements[j * rows], flip);
    for (std::int64_t r = 1; r < rows; ++r) run = Op::combine(run, Op::load(elements[j * rows + r], flip));
    results[j] = Op::combine(results[j], run);
  }
}

template <class Op, std::int64_t step>
AccumulatorOf<Op> fold_run(RowKernels<Op> const& rows_of, std::byte const* source, std::int64_t rows,
                           std::uint64_t flip, ReadPattern pattern) {
  constexpr auto item = static_cast<std::int64_t>(sizeof(typename Op::Element)) * step;
  if (rows * item < short_run_bytes) return rows_of.fold_row(source, rows, flip);
  constexpr std::int64_t of_line = 64 / item;
  AccumulatorOf<Op> kept[streams];
  std::fill_n(kept, streams, Op::nothing());
  while (rows * item >= short_run_bytes) {
    std::int64_t const lane = std::min(rows / streams / of_line * of_line, stream_bytes / item);
    rows_of.fold_panel(kept, {source, lane, lane * item, (streams - 1) * lane * item, 1, pattern}, flip);
    source += streams * lane * item;
    rows -= streams * lane;
  }
  kept[0] = Op::combine(kept[0], rows_of.fold_row(source, rows, flip));
  return combined<Op>(kept, streams);
}

/// Folds runs of every `step`th element, each to its own result or all to one.
template <class Op, std::int64_t step>
void fold_runs(AccumulatorOf<Op>* results, ReductionBlock const& block, bool to_one, std::uint64_t flip) {
  constexpr auto item = static_cast<std::int64_t>(sizeof(typename Op::Element)) * step;
  RowKernels<Op> const& rows_of = row_kernels<Op, step>();
  std::int64_t j = 0;
  if (to_one && block.columns >= streams) {
    AccumulatorOf<Op> kept[streams];
    std::fill_n(kept, streams, Op::nothing());
    // Each stream takes consecutive runs.
    std::int64_t const most = std::max<std::int64_t>(1, stream_bytes / (block.rows * item));
    while (block.columns - j >= streams) {
      std::int64_t const times = std::min(most, (block.columns - j) / streams);
      rows_of.fold_panel(kept,
                         {block.source + j * block.column_stride, block.rows, times * block.column_stride,
                          block.column_stride - block.rows * item, times, block.pattern},
                         flip);
      j += times * streams;
    }
    results[0] = Op::combine(results[0], combined<Op>(kept, streams));
  }
  for (; j + streams <= block.columns; j += streams)
    rows_of.fold_panel(results + j,
                       {block.source + j * block.column_stride, block.rows, block.column_stride,
                        streams * block.column_stride - block.rows * item, 1, block.pattern},
                       flip);
  for (; j < block.columns; ++j) {
    auto& result = results[to_one ? 0 : j];
    std::byte const* const run = block.source + j * block.column_stride;
    result = Op::combine(result, fold_run<Op, step>(rows_of, run, block.rows, flip, block.pattern));
  }
}

template <class Op>
void fold_strided_runs(AccumulatorOf<Op>* results, ReductionBlock const& block, bool to_one, std::uint64_t flip) {
  constexpr std::int64_t few = 4;
  AccumulatorOf<Op> kept[streams];
  std::fill_n(kept, streams, Op::nothing());
  bool const side_by_side = block.column_stride < block.row_stride;
  std::int64_t j = 0;
  for (std::int64_t count = 0; j < block.columns; j += count) {
    ReductionBlock part = block;
    part.source += j * block.column_stride;
    AccumulatorOf<Op>* const to = to_one ? kept : results + j;
    count = block.columns - j;
    if (count >= streams && !side_by_side) {
      count = streams;
      fold_streams<Op>(to, part.source, block.column_stride, block.rows, block.row_stride,
                       streams * block.column_stride - block.rows * block.row_stride, flip, block.pattern);
      continue;
    }
    count = side_by_side ? std::min(few, count) : 1;
    switch (count) {
      case 4: fold_few<Op, 4>(to, part, flip); break;
      case 3: fold_few<Op, 3>(to, part, flip); break;
      case 2: fold_few<Op, 2>(to, part, flip); break;
      default: *to = Op::combine(*to, fold_strided<Op>(part.source, block.rows, block.row_stride, flip, block.pattern));
    }
  }
  if (to_one) results[0] = Op::combine(results[0], combined<Op>(kept, streams));
}

template <class Op, std::int64_t step>
void add_rows(AccumulatorOf<Op>* results, ReductionBlock const& block, std::uint64_t flip) {
  constexpr auto item = static_cast<std::int64_t>(sizeof(typename Op::Element)) * step;
  RowKernels<Op> const& rows_of = row_kernels<Op, step>();
  std::int64_t const section = block.rows / streams;
  std::int64_t i = 0;
  for (; i < section; ++i)
    rows_of.add_panel(results,
                      {block.source + i * block.row_stride, block.columns, section * block.row_stride,
                       block.row_stride - block.columns * item, 1, block.pattern},
                      flip);
  i = section * streams;
  for (; i < block.rows; ++i) rows_of.add_row(results, block.source + i * block.row_stride, block.columns, flip);
}

template <class Op>
void add_strided_rows(AccumulatorOf<Op>* results, ReductionBlock const& block, std::uint64_t flip) {
  constexpr std::int64_t most = 4;
  if constexpr (has_pairs<Op>) {
    constexpr auto item = static_cast<std::int64_t>(sizeof(typename Op::Element));
    if (block.row_stride == item && block.column_stride == block.rows * item) {
      if (block.rows == 2) return add_short_runs<Op, 2>(results, block, flip);
      if (block.rows == 3) return add_short_runs<Op, 3>(results, block, flip);
      if (block.rows == 4) return add_short_runs<Op, 4>(results, block, flip);
    }
  }
  for (std::int64_t i = 0; i < block.rows; i += most) {
    ReductionBlock part = block;
    part.source += i * block.row_stride;
    switch (std::min(most, block.rows - i)) {
      case 4: add_strided<Op, 4>(results, part, flip); break;
      case 3: add_strided<Op, 3>(results, part, flip); break;
      case 2: add_strided<Op, 2>(results, part, flip); break;
      default: add_strided<Op, 1>(results, part, flip);
    }
  }
}

/// Adds dense rows of a few results. Several form a wide row of accumulators, folded at the end.
template <class Op>
void add_wide_rows(AccumulatorOf<Op>* results, ReductionBlock const& block, std::uint64_t flip) {
  constexpr auto item = static_cast<std::int64_t>(sizeof(typename Op::Element));
  constexpr std::int64_t most_lanes = 256;
  RowKernels<Op> const& rows_of = row_kernels<Op, 1>();
  AccumulatorOf<Op> wide[most_lanes];
  std::int64_t const columns = block.columns;
  std::int64_t copies = most_lanes / columns;
  // Whole cache lines, if possible.
  if (copies > 16) copies -= copies % 16;
  copies = std::min(copies, std::max<std::int64_t>(1, block.rows / streams));
  std::int64_t const width = copies * columns;
  std::fill_n(wide, width, Op::nothing());
  // Eight sections, read side by side.
  std::int64_t const section = block.rows / copies / streams;
  std::int64_t const section_bytes = section * width * item;
  for (std::int64_t i = 0; i < section; ++i)
    rows_of.add_panel(wide, {block.source + i * width * item, width, section_bytes, 0, 1, block.pattern}, flip);
  std::int64_t const elements = block.rows * columns;
  for (std::int64_t done = section * streams * width; done < elements; done += width)
    rows_of.add_row(wide, block.source + done * item, std::min(width, elements - done), flip);
  for (std::int64_t j = 0; j < columns; ++j) {
    AccumulatorOf<Op> kept[most_lanes];
    for (std::int64_t copy = 0; copy < copies; ++copy) kept[copy] = wide[copy * columns + j];
    results[j] = Op::combine(results[j], combined<Op>(kept, copies));
  }
}

template <class Op>
void accumulate(ReductionWalk walk, void* memory, ReductionBlock const& block, std::uint64_t flip) {
  auto* const results = static_cast<AccumulatorOf<Op>*>(memory);
  constexpr auto item = static_cast<std::int64_t>(sizeof(typename Op::Element));
  bool const by_rows = walk == ReductionWalk::columns || walk == ReductionWalk::wide;
  std::int64_t const stride = by_rows ? block.column_stride : block.row_stride;
  bool const to_one = walk == ReductionWalk::fold;
  if constexpr (Op::has_rows) {
    if (walk == ReductionWalk::wide) return add_wide_rows<Op>(results, block, flip);
    if (stride == item)
      return by_rows ? add_rows<Op, 1>(results, block, flip) : fold_runs<Op, 1>(results, block, to_one, flip);
  }
  if constexpr (has_pairs<Op>)
    if (stride == 2 * item)
      return by_rows ? add_rows<Op, 2>(results, block, flip) : fold_runs<Op, 2>(results, block, to_one, flip);
  if (by_rows) return add_strided_rows<Op>(results, block, flip);
  fold_strided_runs<Op>(results, block, to_one, flip);
}

template <class Op>
void begin_accumulators(void* accumulators, std::int64_t columns) {
  std::fill_n(static_cast<AccumulatorOf<Op>*>(accumulators), columns, Op::nothing());
}

}  // namespace memarray::detail
