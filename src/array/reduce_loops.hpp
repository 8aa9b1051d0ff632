#pragma once

#include "dtype_index.hpp"
#include "reduce_kernels.hpp"
#include "wide_paths.hpp"

#include <memarray/array/vectors.hpp>
#include <memarray/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// The loops of reductions, for an `Op` with types `Element` and `Accumulator` and functions `nothing()`,
// `load(element)` and `combine(accumulator, accumulator)`, whose first argument is what came before.
namespace memarray::detail {

template <class Op>
using ElementOf = typename Op::Element;
template <class Op>
using AccumulatorOf = typename Op::Accumulator;

template <class Op>
MEMARRAY_ALWAYS_INLINE AccumulatorOf<Op> element_at(std::byte const* address) {
  return Op::load(*reinterpret_cast<ElementOf<Op> const*>(address));
}

/// Elements for which every path is compiled: those that most sums are of. All paths for all dtypes would take a
/// compiler minutes.
template <class Op>
inline constexpr bool every_path = std::is_floating_point_v<ElementOf<Op>>;
/// Elements that gain from wider vectors, as they are converted or as wide as what they are added up in.
template <class Op>
inline constexpr bool wide_path =
    every_path<Op> || is_half<ElementOf<Op>> || (std::is_integral_v<ElementOf<Op>> && sizeof(ElementOf<Op>) >= 4);

// Bytes ahead of where a row is read, and of a part of it that is prefetched at once.
inline constexpr std::int64_t prefetch_ahead = 1024;
inline constexpr std::int64_t prefetch_part = 512;

/// Eight rows at once: the accumulators are read and written less often, and memory answers eight streams sooner than
/// one. `step`: elements from one column to the next. `jump`: bytes from a row's end to where reading goes on.
template <class Op, std::int64_t step>
MEMARRAY_ALWAYS_INLINE void add_eight_rows(AccumulatorOf<Op>* __restrict accumulators, std::int64_t columns,
                                           std::byte const* source, std::int64_t row_stride, std::int64_t jump) {
  using Element = ElementOf<Op>;
  constexpr auto item = static_cast<std::int64_t>(sizeof(Element)) * step;
  constexpr std::int64_t part = prefetch_part / item < 16 ? 16 : prefetch_part / item;
  for (std::int64_t first = 0; first < columns; first += part) {
    std::int64_t const last = std::min(columns, first + part);
    std::int64_t const ahead = first * item + prefetch_ahead;
    std::byte const* const next = source + ahead + (ahead < columns * item ? 0 : jump);
    for (std::int64_t row = 0; row < 8; ++row)
      for (std::int64_t byte = 0; byte < (last - first) * item; byte += 64)
        __builtin_prefetch(next + row * row_stride + byte, 0, 2);
    auto const* __restrict const a = reinterpret_cast<Element const*>(source);
    auto const* __restrict const b = reinterpret_cast<Element const*>(source + row_stride);
    auto const* __restrict const c = reinterpret_cast<Element const*>(source + 2 * row_stride);
    auto const* __restrict const d = reinterpret_cast<Element const*>(source + 3 * row_stride);
    auto const* __restrict const e = reinterpret_cast<Element const*>(source + 4 * row_stride);
    auto const* __restrict const f = reinterpret_cast<Element const*>(source + 5 * row_stride);
    auto const* __restrict const g = reinterpret_cast<Element const*>(source + 6 * row_stride);
    auto const* __restrict const h = reinterpret_cast<Element const*>(source + 7 * row_stride);
    for (std::int64_t j = first; j < last; ++j) {
      auto const upper = Op::combine(Op::combine(Op::load(a[j * step]), Op::load(b[j * step])),
                                     Op::combine(Op::load(c[j * step]), Op::load(d[j * step])));
      auto const lower = Op::combine(Op::combine(Op::load(e[j * step]), Op::load(f[j * step])),
                                     Op::combine(Op::load(g[j * step]), Op::load(h[j * step])));
      accumulators[j] = Op::combine(accumulators[j], Op::combine(upper, lower));
    }
  }
}

/// Rows of elements side by side, or every `step`th.
template <class Op, std::int64_t step>
MEMARRAY_ALWAYS_INLINE void add_dense_rows(AccumulatorOf<Op>* __restrict accumulators, std::int64_t columns,
                                           std::byte const* source, std::int64_t rows, std::int64_t row_stride) {
  using Element = ElementOf<Op>;
  [[maybe_unused]] constexpr auto item = static_cast<std::int64_t>(sizeof(Element)) * step;
  std::int64_t i = 0;
  if constexpr (every_path<Op>)
    for (; i + 8 <= rows; i += 8)
      add_eight_rows<Op, step>(accumulators, columns, source + i * row_stride, row_stride,
                               8 * row_stride - columns * item);
  for (; i < rows; ++i) {
    auto const* __restrict const a = reinterpret_cast<Element const*>(source + i * row_stride);
    for (std::int64_t j = 0; j < columns; ++j) accumulators[j] = Op::combine(accumulators[j], Op::load(a[j * step]));
  }
}

/// Results whose elements lie at a distance from each other.
template <class Op>
MEMARRAY_ALWAYS_INLINE void add_strided_rows(AccumulatorOf<Op>* __restrict accumulators, ReductionBlock const& block) {
  std::int64_t const step = block.column_stride;
  std::int64_t i = 0;
  for (; i + 2 <= block.rows; i += 2) {
    std::byte const* const a = block.source + i * block.row_stride;
    std::byte const* const b = a + block.row_stride;
    for (std::int64_t j = 0; j < block.columns; ++j)
      accumulators[j] =
          Op::combine(accumulators[j], Op::combine(element_at<Op>(a + j * step), element_at<Op>(b + j * step)));
  }
  for (; i < block.rows; ++i) {
    std::byte const* const a = block.source + i * block.row_stride;
    for (std::int64_t j = 0; j < block.columns; ++j)
      accumulators[j] = Op::combine(accumulators[j], element_at<Op>(a + j * step));
  }
}

/// Each result from `count` elements that follow one another, and results likewise.
template <class Op, std::int64_t count>
MEMARRAY_ALWAYS_INLINE void add_short_runs(AccumulatorOf<Op>* __restrict accumulators, std::byte const* source,
                                           std::int64_t columns) {
  auto const* __restrict const elements = reinterpret_cast<ElementOf<Op> const*>(source);
  for (std::int64_t j = 0; j < columns; ++j) {
    auto sum = Op::combine(Op::load(elements[j * count]), Op::load(elements[j * count + 1]));
    if constexpr (count > 2) sum = Op::combine(sum, Op::load(elements[j * count + 2]));
    if constexpr (count > 3) sum = Op::combine(sum, Op::load(elements[j * count + 3]));
    accumulators[j] = Op::combine(accumulators[j], sum);
  }
}

/// One result from elements at a distance, in eight sections where they are many.
template <class Op>
MEMARRAY_ALWAYS_INLINE AccumulatorOf<Op> reduce_strided(std::byte const* source, std::int64_t rows,
                                                        std::int64_t stride) {
  constexpr std::int64_t lanes = 8;
  constexpr std::int64_t many_rows = 1024;
  AccumulatorOf<Op> kept[lanes];
  for (auto& lane : kept) lane = Op::nothing();
  bool const in_sections = rows >= many_rows;
  std::int64_t const lane_stride = in_sections ? rows / lanes * stride : stride;
  std::int64_t const step = in_sections ? stride : lanes * stride;
  std::int64_t const whole = rows / lanes;
  for (std::int64_t i = 0; i < whole; ++i)
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      kept[lane] = Op::combine(kept[lane], element_at<Op>(source + i * step + lane * lane_stride));
  for (std::int64_t lane = 0; whole * lanes + lane < rows; ++lane)
    kept[lane] = Op::combine(kept[lane], element_at<Op>(source + (whole * lanes + lane) * stride));
  for (std::int64_t half = lanes / 2; half > 0; half /= 2)
    for (std::int64_t lane = 0; lane < half; ++lane) kept[lane] = Op::combine(kept[lane], kept[lane + half]);
  return kept[0];
}

/// A few results of elements at a distance, all of a row before the next.
template <class Op, std::int64_t columns>
MEMARRAY_ALWAYS_INLINE void add_few_columns(AccumulatorOf<Op>* accumulators, std::byte const* source,
                                            std::int64_t column_stride, std::int64_t rows, std::int64_t row_stride) {
  constexpr std::int64_t lanes = 4;
  AccumulatorOf<Op> kept[lanes][columns];
  for (auto& lane : kept)
    for (auto& column : lane) column = Op::nothing();
  std::int64_t i = 0;
  for (; i + lanes <= rows; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      for (std::int64_t j = 0; j < columns; ++j)
        kept[lane][j] =
            Op::combine(kept[lane][j], element_at<Op>(source + (i + lane) * row_stride + j * column_stride));
  for (; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      kept[0][j] = Op::combine(kept[0][j], element_at<Op>(source + i * row_stride + j * column_stride));
  for (std::int64_t j = 0; j < columns; ++j)
    accumulators[j] = Op::combine(
        accumulators[j], Op::combine(Op::combine(kept[0][j], kept[1][j]), Op::combine(kept[2][j], kept[3][j])));
}

template <class Op>
MEMARRAY_ALWAYS_INLINE void add_strided_runs(AccumulatorOf<Op>* accumulators, ReductionBlock const& block) {
  constexpr std::int64_t few = 4;
  // Rows that stay in the first cache until their last columns are taken.
  std::int64_t const most_rows = block.columns > few ? 64 : block.rows;
  for (std::int64_t top = 0; top < block.rows; top += most_rows) {
    std::int64_t const rows = std::min(most_rows, block.rows - top);
    for (std::int64_t j = 0; j < block.columns; j += few) {
      std::byte const* const source = block.source + top * block.row_stride + j * block.column_stride;
      switch (std::min(few, block.columns - j)) {
        case 4: add_few_columns<Op, 4>(accumulators + j, source, block.column_stride, rows, block.row_stride); break;
        case 3: add_few_columns<Op, 3>(accumulators + j, source, block.column_stride, rows, block.row_stride); break;
        case 2: add_few_columns<Op, 2>(accumulators + j, source, block.column_stride, rows, block.row_stride); break;
        default: accumulators[j] = Op::combine(accumulators[j], reduce_strided<Op>(source, rows, block.row_stride));
      }
    }
  }
}

/// Dense rows of a few results: as many as make up some lanes are one row of a block of its own, folded at the end. One
/// result may also be of every `step`th element.
template <class Op, std::int64_t step>
MEMARRAY_ALWAYS_INLINE void add_wide_rows(AccumulatorOf<Op>* accumulators, std::byte const* source,
                                          std::int64_t columns, std::int64_t rows) {
  constexpr auto item = static_cast<std::int64_t>(sizeof(ElementOf<Op>)) * step;
  constexpr std::int64_t most_lanes = 256;
  constexpr std::int64_t some_lanes = 64;
  constexpr std::int64_t few_lanes = 32;
  constexpr std::int64_t few_elements = 64;
  std::int64_t const elements = rows * columns;
  if (columns == 1 && rows < few_elements) {
    accumulators[0] = Op::combine(accumulators[0], reduce_strided<Op>(source, rows, item));
    return;
  }
  AccumulatorOf<Op> wide[static_cast<std::size_t>(most_lanes)];
  // Lanes that make up whole vectors, if that can be.
  bool const even = (columns & (columns - 1)) == 0 && columns <= few_lanes;
  std::int64_t copies = (even ? (elements < most_lanes * 8 ? few_lanes : some_lanes) : most_lanes) / columns;
  if (copies > 16) copies -= copies % 16;
  std::int64_t const width = copies * columns;
  std::int64_t const whole = rows / copies;
  for (std::int64_t j = 0; j < width; ++j) wide[j] = Op::nothing();
  // Eight sections, read side by side.
  std::int64_t const section = every_path<Op> ? whole / 8 : 0;
  if constexpr (every_path<Op>)
    for (std::int64_t i = 0; i < section; ++i)
      add_eight_rows<Op, step>(wide, width, source + i * width * item, section * width * item, 0);
  for (std::int64_t done = section * 8 * width; done < elements; done += width) {
    auto const* __restrict const last = reinterpret_cast<ElementOf<Op> const*>(source + done * item);
    std::int64_t const rest = std::min(width, elements - done);
    for (std::int64_t j = 0; j < rest; ++j) wide[j] = Op::combine(wide[j], Op::load(last[j * step]));
  }
  while (copies > 1) {
    std::int64_t const kept = (copies + 1) / 2;
    AccumulatorOf<Op> const* const upper = wide + kept * columns;
    for (std::int64_t j = 0; j < (copies - kept) * columns; ++j) wide[j] = Op::combine(wide[j], upper[j]);
    copies = kept;
  }
  for (std::int64_t j = 0; j < columns; ++j) accumulators[j] = Op::combine(accumulators[j], wide[j]);
}

template <class Op>
MEMARRAY_ALWAYS_INLINE void accumulate_block(LoopKernel kernel, void* memory, ReductionBlock const& block) {
  auto* const accumulators = static_cast<AccumulatorOf<Op>*>(memory);
  constexpr auto item = static_cast<std::int64_t>(sizeof(ElementOf<Op>));
  if (kernel == LoopKernel::columns) {
    if (block.column_stride == item)
      return add_dense_rows<Op, 1>(accumulators, block.columns, block.source, block.rows, block.row_stride);
    if constexpr (every_path<Op>)
      if (block.column_stride == 2 * item && block.rows >= 8)
        return add_dense_rows<Op, 2>(accumulators, block.columns, block.source, block.rows, block.row_stride);
    if (block.row_stride == item && block.column_stride == block.rows * item) {
      if (block.rows == 2) return add_short_runs<Op, 2>(accumulators, block.source, block.columns);
      if (block.rows == 3) return add_short_runs<Op, 3>(accumulators, block.source, block.columns);
      if (block.rows == 4) return add_short_runs<Op, 4>(accumulators, block.source, block.columns);
    }
    return add_strided_rows<Op>(accumulators, block);
  }
  if constexpr (every_path<Op>)
    if (kernel == LoopKernel::strided && block.row_stride == 2 * item) {
      for (std::int64_t j = 0; j < block.columns; ++j)
        add_wide_rows<Op, 2>(accumulators + j, block.source + j * block.column_stride, 1, block.rows);
      return;
    }
  if (kernel == LoopKernel::strided) return add_strided_runs<Op>(accumulators, block);
  // Contiguous runs are wide rows of one.
  bool const wide = kernel == LoopKernel::wide;
  for (std::int64_t j = 0; j < (wide ? 1 : block.columns); ++j)
    add_wide_rows<Op, 1>(accumulators + j, block.source + j * block.column_stride, wide ? block.columns : 1,
                         block.rows);
}

template <class Op>
void accumulate_portable(LoopKernel kernel, void* accumulators, ReductionBlock const& block) {
  accumulate_block<Op>(kernel, accumulators, block);
}
#if defined(MEMARRAY_WIDE_PATHS)
template <class Op>
MEMARRAY_AVX2 void accumulate_avx2(LoopKernel kernel, void* accumulators, ReductionBlock const& block) {
  accumulate_block<Op>(kernel, accumulators, block);
}
template <class Op>
MEMARRAY_AVX512 void accumulate_avx512(LoopKernel kernel, void* accumulators, ReductionBlock const& block) {
  accumulate_block<Op>(kernel, accumulators, block);
}
#endif

template <class Op>
void begin_accumulators(void* accumulators, std::int64_t columns) {
  std::fill_n(static_cast<AccumulatorOf<Op>*>(accumulators), columns, Op::nothing());
}

/// In halves: the roundings of sums do not add up.
template <class Op>
void collapse_accumulators(void* accumulators, std::int64_t columns, void* into) {
  auto* const from = static_cast<AccumulatorOf<Op>*>(accumulators);
  while (columns > 1) {
    std::int64_t const kept = (columns + 1) / 2;
    for (std::int64_t j = 0; j < columns - kept; ++j) from[j] = Op::combine(from[j], from[j + kept]);
    columns = kept;
  }
  *static_cast<AccumulatorOf<Op>*>(into) = from[0];
}

/// The function of `Op` for this processor.
template <class Op>
auto accumulate_function() noexcept {
#if defined(MEMARRAY_WIDE_PATHS)
  if constexpr (every_path<Op>)
    if (widest_vectors() == Vectors::avx512) return accumulate_avx512<Op>;
  if constexpr (wide_path<Op>)
    if (widest_vectors() != Vectors::baseline) return accumulate_avx2<Op>;
#endif
  return accumulate_portable<Op>;
}

}  // namespace memarray::detail
