#pragma once

#include "cast_block.hpp"
#include "nest_walk.hpp"
#include "read_pattern.hpp"
#include "reduce_block.hpp"

#include <memarray/base/hooks.hpp>
#include <memarray/detail/strided/loop_nest.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace memarray::detail {

// Bytes of a row of accumulators, within the first-level cache; totals take twice that.
inline constexpr std::size_t row_bytes = 16384;
// Limits of a piece, after which accumulators are folded: this bounds rounding errors.
inline constexpr std::int64_t elements_of_piece = std::int64_t{1} << 18;
inline constexpr std::int64_t most_rows = 256;      // half the rows of `LoopKernel::columns`
inline constexpr std::int64_t most_steps = 32;      // blocks
inline constexpr std::int64_t most_strided = 8192;  // rows of `LoopKernel::strided`
// Elements of a tile whose results are runs.
inline constexpr std::int64_t elements_of_tile = 32768;

inline void accumulate_converted(ReductionKernels const& kernels, ReductionWalk walk, std::byte* accumulators,
                                 ReductionBlock const& block, std::size_t itemsize) {
  alignas(64) std::byte converted[cast_capacity * sizeof(double)];
  bool const by_rows = walk == ReductionWalk::columns || walk == ReductionWalk::wide;
  auto const size = static_cast<std::int64_t>(kernels.element_size);
  // Inner: adjacent elements in the buffer. Outer: runs of them.
  std::int64_t const inner = by_rows ? block.columns : block.rows;
  std::int64_t const inner_stride = by_rows ? block.column_stride : block.row_stride;
  std::int64_t const outer = by_rows ? block.rows : block.columns;
  std::int64_t const outer_stride = by_rows ? block.row_stride : block.column_stride;
  std::int64_t const width = std::min(inner, cast_capacity);
  std::int64_t const height = cast_capacity / std::max<std::int64_t>(1, width);
  bool const one_result = walk == ReductionWalk::fold || walk == ReductionWalk::wide;
  for (std::int64_t top = 0; top < outer; top += height)
    for (std::int64_t left = 0; left < inner; left += width) {
      std::int64_t const rows = std::min(height, outer - top);
      std::int64_t const columns = std::min(width, inner - left);
      std::byte const* const source = block.source + top * outer_stride + left * inner_stride;
      cast_block(kernels.convert, {converted, columns * size, size, source, outer_stride, inner_stride, rows, columns},
                 kernels.element_size, itemsize, false);
      std::int64_t const first = one_result ? 0 : by_rows ? left : top;
      ReductionBlock const dense = by_rows ? ReductionBlock{converted, columns, size, rows, columns * size}
                                           : ReductionBlock{converted, rows, columns * size, columns, size};
      kernels.accumulate(walk, accumulators + static_cast<std::size_t>(first) * kernels.accumulator_size, dense,
                         kernels.flip);
    }
}

inline void accumulate_any(ReductionKernels const& kernels, ReductionWalk walk, void* accumulators,
                           ReductionBlock const& block, std::size_t itemsize) {
  if (kernels.convert)
    accumulate_converted(kernels, walk, static_cast<std::byte*>(accumulators), block, itemsize);
  else
    kernels.accumulate(walk, accumulators, block, kernels.flip);
}

/// A reduction as tiles (rows of results) and pieces (parts of the reduced elements), independent of the number of
/// threads. Borrows the nest.
class Tiles {
 public:
  using Loop = LoopNest::Loop;

  Tiles(LoopNest const& nest, std::size_t accumulator_size, std::size_t itemsize) noexcept
      : _itemsize(itemsize), _span(itemsize), _walk(walk_of(nest.kernel)) {
    for (Loop const& loop : nest.all()) _span += static_cast<std::size_t>((loop.extent - 1) * loop.strides[0]);
    auto const outer = nest.outer();
    auto const kept = static_cast<std::size_t>(
        std::find_if(outer.begin(), outer.end(), [](Loop const& loop) { return loop.reduced; }) - outer.begin());
    _kept = outer.first(kept);
    _reduced = outer.subspan(kept);
    bool const by_rows = nest.kernel == LoopKernel::contiguous || nest.kernel == LoopKernel::strided;
    auto const inner = nest.all().last(static_cast<std::size_t>(nest.inner));
    if (!inner.empty()) (by_rows ? _row : _column) = inner.back();
    if (inner.size() == 2) (by_rows ? _column : _row) = inner.front();
    auto const most_columns = static_cast<std::int64_t>(row_bytes / accumulator_size);
    _width = _column.reduced ? _column.extent : std::min(_column.extent, most_columns);
    if (by_rows && !_column.reduced)
      _width = std::min(_width, std::max<std::int64_t>(1, elements_of_tile / std::max<std::int64_t>(1, _row.extent)));
    std::int64_t rows = elements_of_piece / _width;
    if (nest.kernel == LoopKernel::columns) rows = std::min(rows, most_rows * 2);
    if (nest.kernel == LoopKernel::strided) rows = std::min(rows, most_strided);
    std::int64_t const steps = steps_of(_reduced);
    if (_row.extent >= rows) {
      _piece_rows = rows;
      _pieces_of_row = divide_up(_row.extent, rows);
      _pieces = steps * _pieces_of_row;
    } else {
      _piece_rows = _row.extent;
      _piece_steps = std::clamp<std::int64_t>(rows / std::max<std::int64_t>(1, _row.extent), 1, most_steps);
      _pieces = divide_up(steps, _piece_steps);
    }
    _across = divide_up(_column.extent, _width);
    _count = steps_of(_kept) * _across;
  }

  [[nodiscard]] std::int64_t count() const noexcept { return _count; }
  [[nodiscard]] std::int64_t pieces() const noexcept { return _pieces; }
  /// Returns the most results of a tile.
  [[nodiscard]] std::int64_t width() const noexcept { return _column.reduced ? 1 : _width; }
  [[nodiscard]] std::int64_t piece_elements() const noexcept { return _width * _piece_rows * _piece_steps; }
  [[nodiscard]] std::int64_t reduced() const noexcept {
    return steps_of(_reduced) * _row.extent * (_column.reduced ? _column.extent : 1);
  }
  [[nodiscard]] std::int64_t result_stride() const noexcept { return _column.strides[1]; }

  /// Byte offsets of the first element and result, and number of results.
  struct Tile {
    std::int64_t source;
    std::int64_t target;
    std::int64_t columns;
  };
  [[nodiscard]] Tile tile(std::int64_t number) const noexcept {
    Odometer const at(_kept, number / _across);
    std::int64_t const left = number % _across * _width;
    return {at.first() + left * _column.strides[0], at.second() + left * _column.strides[1],
            std::min(width(), _column.extent - left)};
  }

  /// Returns the pattern for a job whose first element is `source`. The first large job measures both.
  ReadPattern pattern(ReductionKernels const& kernels, std::byte const* source) const {
    ReadPatternChoice& choice = is_row_of_results() ? ReadPatternChoice::of_rows() : ReadPatternChoice::of_runs();
    std::int64_t const units = _count * _pieces;
    if (!choice.is_made() && _span >= ReadPatternChoice::large_job && units >= ReadPatternChoice::samples &&
        piece_bytes() >= ReadPatternChoice::least_sample && !kernels.convert && has_patterns()) {
      alignas(64) std::byte accumulators[row_bytes];
      RuntimeRelease const released;
      choice.measure([&](int sample, ReadPattern pattern) {
        std::int64_t const unit = units / ReadPatternChoice::samples * sample;
        Tile const sampled = tile(unit / _pieces);
        accumulate(kernels, accumulators, source + sampled.source, sampled.columns, unit % _pieces, pattern);
        return piece_elements() / _width * sampled.columns;
      });
    }
    return choice.get();
  }

  /// Accumulates a piece of the tile at `source`.
  void accumulate(ReductionKernels const& kernels, void* accumulators, std::byte const* source, std::int64_t results,
                  std::int64_t piece, ReadPattern pattern) const {
    kernels.begin(accumulators, results);
    std::int64_t const columns = _column.reduced ? _column.extent : results;
    std::int64_t const part = piece % _pieces_of_row * _piece_rows;
    std::int64_t const first = piece / _pieces_of_row * _piece_steps;
    std::int64_t const last = std::min(first + _piece_steps, steps_of(_reduced));
    Odometer at(_reduced, first);
    for (std::int64_t step = first; step < last; ++step, at.next()) {
      ReductionBlock block{source + at.first() + part * _row.strides[0], columns,         _column.strides[0],
                           std::min(_piece_rows, _row.extent - part),    _row.strides[0], pattern};
      ReductionWalk walk = _walk;
      if (_column.reduced) {
        // For one result, runs follow adjacent elements.
        if (walk == ReductionWalk::columns)
          block = {block.source, block.rows, block.row_stride, block.columns, block.column_stride, pattern};
        walk = ReductionWalk::fold;
      }
      accumulate_any(kernels, walk, accumulators, block, _itemsize);
    }
  }

 private:
  [[nodiscard]] std::size_t piece_bytes() const noexcept {
    return std::max(static_cast<std::size_t>(piece_elements()) * _itemsize,
                    static_cast<std::size_t>(_piece_rows * _row.strides[0]));
  }
  [[nodiscard]] bool is_row_of_results() const noexcept { return _walk != ReductionWalk::runs && !_column.reduced; }

  /// True if the `ReadPattern` makes a difference.
  [[nodiscard]] bool has_patterns() const noexcept {
    bool const by_rows = _walk != ReductionWalk::runs;
    Loop const& along = by_rows ? _column : _row;
    Loop const& across = by_rows ? _row : _column;
    std::int64_t const stride = along.strides[0];
    bool const is_run = stride <= 2 * static_cast<std::int64_t>(_itemsize);
    if (is_row_of_results()) return is_run;
    if (!is_run) return is_one_of_line(stride) || across.strides[0] < stride;
    std::int64_t const run = along.extent * stride;
    return run >= page_run || has_small_gap(across.strides[0] - run);
  }

  static ReductionWalk walk_of(LoopKernel kernel) noexcept {
    if (kernel == LoopKernel::columns) return ReductionWalk::columns;
    return kernel == LoopKernel::wide ? ReductionWalk::wide : ReductionWalk::runs;
  }

  std::size_t _itemsize;
  std::size_t _span;  // bytes of the source
  ReductionWalk _walk;
  std::span<Loop const> _kept;
  std::span<Loop const> _reduced;
  Loop _row{1, {0, 0}, true};
  Loop _column{1, {0, 0}, false};
  std::int64_t _width = 1;
  std::int64_t _piece_rows = 1;
  std::int64_t _piece_steps = 1;
  std::int64_t _pieces_of_row = 1;
  std::int64_t _pieces = 1;
  std::int64_t _across = 1;
  std::int64_t _count = 1;
};

}  // namespace memarray::detail
