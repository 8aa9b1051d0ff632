#include "cast_block.hpp"
#include "dtype_index.hpp"
#include "nest_walk.hpp"
#include "reading_order.hpp"
#include "reduce_extremes.hpp"
#include "reduce_kernels.hpp"
#include "reduce_sums.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/strided/strided_copy.hpp>
#include <memarray/detail/strided/strided_reduce.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace memarray::detail {
namespace {

using Loop = LoopNest::Loop;

// Bytes of a row of accumulators, which stays in the first-level cache; totals take twice as much.
constexpr std::size_t row_bytes = 16384;
// Elements of a piece, and rows that one accumulator takes before it is folded, which limits its rounding errors.
constexpr std::int64_t elements_of_piece = std::int64_t{1} << 18;
constexpr std::int64_t most_rows = 256;
// Blocks that are added to one accumulator before it is folded.
constexpr std::int64_t most_steps = 32;
// Elements of a strided run that one result takes before its accumulators are folded, and of a tile of such results.
constexpr std::int64_t most_strided = 8192;
constexpr std::int64_t elements_of_tile = 32768;
// Number of tiles that occupies all threads, without cutting each into pieces for several.
constexpr std::int64_t enough_tiles = 32;

ReductionKernels kernels_of(Reduction reduction, int dtype_index) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean: return sum_kernels(dtype_index, reduction == Reduction::mean);
    case Reduction::min:
    case Reduction::max: break;
  }
  return extreme_kernels(dtype_index, reduction == Reduction::min);
}

bool by_parts(Reduction reduction, DType const& dtype) {
  return dtype.dl.code == kDLComplex && (reduction == Reduction::sum || reduction == Reduction::mean);
}

/// Converts the elements of a block and adds them to accumulators.
void accumulate_converted(ReductionKernels const& kernels, ReductionWalk walk, std::byte* accumulators,
                          ReductionBlock const& block, std::size_t itemsize) {
  alignas(64) std::byte converted[cast_elements * sizeof(double)];
  bool const by_rows = walk == ReductionWalk::columns || walk == ReductionWalk::wide;
  auto const size = static_cast<std::int64_t>(kernels.element_size);
  // Inner: adjacent elements in the buffer. Outer: runs of them.
  std::int64_t const inner = by_rows ? block.columns : block.rows;
  std::int64_t const inner_stride = by_rows ? block.column_stride : block.row_stride;
  std::int64_t const outer = by_rows ? block.rows : block.columns;
  std::int64_t const outer_stride = by_rows ? block.row_stride : block.column_stride;
  std::int64_t const width = std::min(inner, cast_elements);
  std::int64_t const height = cast_elements / std::max<std::int64_t>(1, width);
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

void accumulate_any(ReductionKernels const& kernels, ReductionWalk walk, void* accumulators,
                    ReductionBlock const& block, std::size_t itemsize) {
  if (kernels.convert)
    accumulate_converted(kernels, walk, static_cast<std::byte*>(accumulators), block, itemsize);
  else
    kernels.accumulate(walk, accumulators, block, kernels.flip);
}

/// A reduction as tiles, each a row of results, and pieces, each a part of the reduced elements. Neither cut depends on
/// the number of threads.
class Tiles {
 public:
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
  /// Returns the largest number of results in a tile.
  [[nodiscard]] std::int64_t width() const noexcept { return _column.reduced ? 1 : _width; }
  [[nodiscard]] std::int64_t piece_elements() const noexcept { return _width * _piece_rows * _piece_steps; }
  [[nodiscard]] std::int64_t reduced() const noexcept {
    return steps_of(_reduced) * _row.extent * (_column.reduced ? _column.extent : 1);
  }
  [[nodiscard]] std::int64_t result_stride() const noexcept { return _column.strides[1]; }

  /// Offsets of a tile's first element and result, and its number of results.
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

  /// Accumulates one piece. `source` is the tile's first element.
  void accumulate(ReductionKernels const& kernels, void* accumulators, std::byte const* source, std::int64_t results,
                  std::int64_t piece) const {
    kernels.begin(accumulators, results);
    ReadingOrder& order = is_row_of_results() ? ReadingOrder::of_rows() : ReadingOrder::of_runs();
    auto const add = [&](ReadingOrder::Way way) { accumulate(kernels, accumulators, source, results, piece, way); };
    // Conversions, and pieces for which the order makes no difference, would choose the order at random.
    if (kernels.convert || !has_ways()) return add(order.next(0));
    std::size_t const read = std::max(static_cast<std::size_t>(piece_elements()) * _itemsize,
                                      static_cast<std::size_t>(_piece_rows * _row.strides[0]));
    order.run(read, _span, add);
  }

 private:
  void accumulate(ReductionKernels const& kernels, void* accumulators, std::byte const* source, std::int64_t results,
                  std::int64_t piece, ReadingOrder::Way way) const {
    std::int64_t const columns = _column.reduced ? _column.extent : results;
    std::int64_t const part = piece % _pieces_of_row * _piece_rows;
    std::int64_t const first = piece / _pieces_of_row * _piece_steps;
    std::int64_t const last = std::min(first + _piece_steps, steps_of(_reduced));
    Odometer at(_reduced, first);
    for (std::int64_t step = first; step < last; ++step, at.next()) {
      ReductionBlock block{source + at.first() + part * _row.strides[0], columns,         _column.strides[0],
                           std::min(_piece_rows, _row.extent - part),    _row.strides[0], way};
      ReductionWalk walk = _walk;
      if (_column.reduced) {
        // All elements go to one result, so the runs follow adjacent elements.
        if (walk == ReductionWalk::columns)
          block = {block.source, block.rows, block.row_stride, block.columns, block.column_stride, way};
        walk = ReductionWalk::fold;
      }
      accumulate_any(kernels, walk, accumulators, block, _itemsize);
    }
  }

  [[nodiscard]] bool is_row_of_results() const noexcept { return _walk != ReductionWalk::runs && !_column.reduced; }

  /// True if a `ReadingOrder::Way` makes a difference.
  [[nodiscard]] bool has_ways() const noexcept {
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
  std::size_t _span;  // bytes from the first element to the last
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

/// Memory for the tile that a thread works on.
struct Scratch {
  alignas(64) std::byte accumulators[row_bytes];
  alignas(64) std::byte totals[2 * row_bytes];
};

void run(Tiles const& tiles, ReductionKernels const& kernels, ReductionEnd const& end, std::byte const* source,
         std::byte* target, std::size_t bytes) {
  auto const finish = [&](std::int64_t number, auto const& fold_piece) {
    Tiles::Tile const tile = tiles.tile(number);
    Scratch scratch;
    kernels.begin_total(scratch.totals, tile.columns);
    for (std::int64_t piece = 0; piece < tiles.pieces(); ++piece) fold_piece(tile, scratch, piece);
    kernels.finish(scratch.totals, end, kernels.flip, target + tile.target, tiles.result_stride(), tile.columns);
  };
  std::int64_t const per_run =
      std::max<std::int64_t>(1, elements_of_piece / std::max<std::int64_t>(1, tiles.piece_elements()));
  if (tiles.count() >= enough_tiles || tiles.pieces() <= 1 || parallel_chunks(bytes) <= 1) {
    std::int64_t const tiles_per_run = std::max<std::int64_t>(1, per_run / std::max<std::int64_t>(1, tiles.pieces()));
    return run_in_pieces(tiles.count(), tiles_per_run, bytes, [&](std::int64_t begin, std::int64_t last) {
      for (; begin < last; ++begin)
        finish(begin, [&](Tiles::Tile const& tile, Scratch& scratch, std::int64_t piece) {
          tiles.accumulate(kernels, scratch.accumulators, source + tile.source, tile.columns, piece);
          kernels.fold(scratch.totals, scratch.accumulators, tile.columns);
        });
    });
  }
  // With few results of many elements, each thread takes pieces, which are folded in order afterwards.
  std::size_t const part_size = static_cast<std::size_t>(tiles.width()) * kernels.accumulator_size;
  std::vector<std::byte> parts(static_cast<std::size_t>(tiles.count() * tiles.pieces()) * part_size);
  auto const part = [&](std::int64_t unit) { return parts.data() + static_cast<std::size_t>(unit) * part_size; };
  run_in_pieces(tiles.count() * tiles.pieces(), per_run, bytes, [&](std::int64_t begin, std::int64_t last) {
    for (; begin < last; ++begin) {
      Tiles::Tile const tile = tiles.tile(begin / tiles.pieces());
      tiles.accumulate(kernels, part(begin), source + tile.source, tile.columns, begin % tiles.pieces());
    }
  });
  for (std::int64_t number = 0; number < tiles.count(); ++number)
    finish(number, [&](Tiles::Tile const& tile, Scratch& scratch, std::int64_t piece) {
      kernels.fold(scratch.totals, part(number * tiles.pieces() + piece), tile.columns);
    });
}

/// Copies the first result to the others along each kept dimension in which the source has stride 0.
void repeat_results(StridedSource const& source, AxisMask axes, StridedTarget const& target) {
  StridedLayout done = target.layout;
  AxisMask waiting = 0;
  for (int d = 0, kept = 0; d < source.layout.ndim(); ++d) {
    if ((axes >> d & 1U) != 0) continue;
    if (source.layout.stride(d) == 0 && target.layout.extent(kept) > 1) {
      done.slice(kept, {.start = 0, .stop = 1});
      waiting |= AxisMask{1} << kept;
    }
    ++kept;
  }
  for (int d = 0; waiting >> d != 0; ++d) {
    if ((waiting >> d & 1U) == 0) continue;
    // The other waiting dimensions still have one element.
    StridedLayout next = target.layout;
    for (int other = d + 1; waiting >> other != 0; ++other)
      if ((waiting >> other & 1U) != 0) next.slice(other, {.start = 0, .stop = 1});
    StridedLayout rest = next;
    std::int64_t const offset = rest.slice(d, {.start = 1});
    done.broadcast_to(rest.shape());
    copy({target.data + offset, target.dtype, rest}, {target.data, target.dtype, done});
    done = next;
  }
}

[[noreturn]] MEMARRAY_COLD void refuse(Reduction reduction, DType const& dtype) {
  throw TypeError(std::string(to_string(reduction)) + " needs elements that are numbers, not " + dtype.name);
}

}  // namespace

std::string_view to_string(Reduction reduction) noexcept {
  switch (reduction) {
    case Reduction::sum: return "sum";
    case Reduction::mean: return "mean";
    case Reduction::min: return "min";
    case Reduction::max: return "max";
  }
  return "";
}

DType const& reduced_dtype(Reduction reduction, DType const& dtype) {
  int const index = shipped_index(dtype);
  if (index < 0) refuse(reduction, dtype);
  bool const is_signed = dtype.dl.code == kDLInt || dtype.dl.code == kDLBool;
  if (is_signed || dtype.dl.code == kDLUInt) {
    if (reduction == Reduction::mean) return dtype_of<double>();
    if (reduction == Reduction::sum) return is_signed ? dtype_of<std::int64_t>() : dtype_of<std::uint64_t>();
  }
  return shipped_dtypes()[static_cast<std::size_t>(index)];
}

LoopNest plan_reduce(Reduction reduction, DType const& dtype, StridedLayout const& source, AxisMask axes,
                     StridedLayout const& target) {
  std::uint32_t const parts = by_parts(reduction, dtype) ? 2 : 1;
  return plan_reduction(source, dtype.itemsize / parts, axes, target, reduced_dtype(reduction, dtype).itemsize / parts,
                        reduction == Reduction::sum, static_cast<int>(parts));
}

namespace {

/// True if one result comes from so few elements that cutting them up would take longer than reducing them.
bool is_short_run(LoopNest const& nest) noexcept {
  constexpr std::int64_t most = 4096;
  return nest.count == 0 || (nest.count == 1 && nest.loops[0].reduced && nest.loops[0].extent <= most);
}

void reduce_run(Reduction reduction, ReductionKernels const& kernels, LoopNest const& nest, StridedSource const& source,
                StridedTarget const& target, std::size_t itemsize) {
  constexpr std::size_t largest = 2 * sizeof(double);
  alignas(16) std::byte accumulator[largest];
  alignas(16) std::byte total[largest];
  std::int64_t const rows = nest.count == 0 ? 1 : nest.loops[0].extent;
  std::int64_t const stride = nest.count == 0 ? static_cast<std::int64_t>(itemsize) : nest.loops[0].strides[0];
  ReductionBlock const block{source.data + nest.offsets[0], 1, 0, rows, stride};
  kernels.begin(accumulator, 1);
  accumulate_any(kernels, ReductionWalk::runs, accumulator, block, itemsize);
  kernels.begin_total(total, 1);
  kernels.fold(total, accumulator, 1);
  kernels.finish(total, {reduction == Reduction::mean, rows, nest.repeat}, kernels.flip, target.data + nest.offsets[1],
                 0, 1);
}

/// Returns the number of elements of which each result is made.
std::int64_t terms_of(StridedLayout const& source, AxisMask axes) noexcept {
  std::int64_t terms = 1;
  for (int d = 0; d < source.ndim(); ++d)
    if ((axes >> d & 1U) != 0) terms *= source.extent(d);
  return terms;
}

/// Stores the results of reducing no elements: 0 for a sum, NaN for a mean.
void reduce_nothing(Reduction reduction, StridedTarget target) {
  double const number = reduction == Reduction::mean ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  std::complex<double> const element(number, number);
  bool const whole = target.dtype.dl.code == kDLComplex;
  StridedLayout everywhere;
  everywhere.broadcast_to(target.layout.shape());
  copy(target, StridedSource{reinterpret_cast<std::byte const*>(&element),
                             whole ? dtype_of<std::complex<double>>() : dtype_of<double>(), everywhere});
}

}  // namespace

void check_reduce(Reduction reduction, DType const& dtype, StridedLayout const& source, AxisMask axes) {
  static_cast<void>(reduced_dtype(reduction, dtype));
  // Like NumPy, also if there are no results.
  if ((reduction == Reduction::min || reduction == Reduction::max) && terms_of(source, axes) == 0)
    throw ValueError(std::string(to_string(reduction)) + " of an empty view has no value");
}

void reduce(Reduction reduction, StridedSource source, AxisMask axes, StridedTarget target) {
  int const index = shipped_index(source.dtype);
  DType const& wanted = reduced_dtype(reduction, source.dtype);
  if (shipped_index(target.dtype) != shipped_index(wanted))
    throw TypeError("the " + std::string(to_string(reduction)) + " of " + source.dtype.name + " is " + wanted.name +
                    ", not " + target.dtype.name);
  check_reduce(reduction, source.dtype, source.layout, axes);
  if (target.layout.size() == 0) return;
  if (terms_of(source.layout, axes) == 0) return reduce_nothing(reduction, target);
  LoopNest const nest = plan_reduce(reduction, source.dtype, source.layout, axes, target.layout);
  ReductionKernels const kernels = kernels_of(reduction, index);
  std::size_t const itemsize = source.dtype.itemsize / (by_parts(reduction, source.dtype) ? 2 : 1);
  if (target.layout.ndim() == 0 && is_short_run(nest))
    return reduce_run(reduction, kernels, nest, source, target, itemsize);
  Tiles const tiles(nest, kernels.accumulator_size, itemsize);
  ReductionEnd const end{reduction == Reduction::mean, tiles.reduced(), nest.repeat};
  std::size_t const bytes = static_cast<std::size_t>(nest.size()) * source.dtype.itemsize;
  run(tiles, kernels, end, source.data + nest.offsets[0], target.data + nest.offsets[1], bytes);
  bool repeats = false;
  for (int d = 0; d < source.layout.ndim(); ++d)
    repeats = repeats || (source.layout.stride(d) == 0 && (axes >> d & 1U) == 0);
  if (repeats) repeat_results(source, axes, target);
}

}  // namespace memarray::detail
