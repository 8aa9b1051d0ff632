#include "dtype_index.hpp"
#include "nest_walk.hpp"
#include "reduce_block.hpp"
#include "reduce_extremes.hpp"
#include "reduce_sums.hpp"
#include "reduce_tiles.hpp"
#include "strided_copy.hpp"

#include <memarray/base/errors.hpp>
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

// With this many tiles, threads take tiles rather than pieces.
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

struct Scratch {
  alignas(64) std::byte accumulators[row_bytes];
  alignas(64) std::byte totals[2 * row_bytes];
};

void run(Tiles const& tiles, ReductionKernels const& kernels, ReductionEnd const& end, std::byte const* source,
         std::byte* target, std::size_t bytes) {
  ReadPattern const pattern = tiles.pattern(kernels, source);
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
          tiles.accumulate(kernels, scratch.accumulators, source + tile.source, tile.columns, piece, pattern);
          kernels.fold(scratch.totals, scratch.accumulators, tile.columns);
        });
    });
  }
  // For few results of many elements, threads take pieces, which are then folded in order.
  std::size_t const part_size = static_cast<std::size_t>(tiles.width()) * kernels.accumulator_size;
  std::vector<std::byte> parts(static_cast<std::size_t>(tiles.count() * tiles.pieces()) * part_size);
  auto const part = [&](std::int64_t unit) { return parts.data() + static_cast<std::size_t>(unit) * part_size; };
  run_in_pieces(tiles.count() * tiles.pieces(), per_run, bytes, [&](std::int64_t begin, std::int64_t last) {
    for (; begin < last; ++begin) {
      Tiles::Tile const tile = tiles.tile(begin / tiles.pieces());
      tiles.accumulate(kernels, part(begin), source + tile.source, tile.columns, begin % tiles.pieces(), pattern);
    }
  });
  for (std::int64_t number = 0; number < tiles.count(); ++number)
    finish(number, [&](Tiles::Tile const& tile, Scratch& scratch, std::int64_t piece) {
      kernels.fold(scratch.totals, part(number * tiles.pieces() + piece), tile.columns);
    });
}

/// Copies the first result along each kept dimension of source stride 0.
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
    // Dimensions still waiting have one element.
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

/// True for one result of so few elements that `Tiles` would take longer.
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

std::int64_t terms_of(StridedLayout const& source, AxisMask axes) noexcept {
  std::int64_t terms = 1;
  for (int d = 0; d < source.ndim(); ++d)
    if ((axes >> d & 1U) != 0) terms *= source.extent(d);
  return terms;
}

/// Stores the results of no elements: 0 for a sum, NaN for a mean.
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
  // Throws like NumPy, even if the result is empty.
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
