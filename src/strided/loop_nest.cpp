#include <memarray/detail/strided/loop_nest.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace memarray::detail {
namespace {

using Loop = LoopNest::Loop;

// In elements. Shorter reduced dimensions are walked with results in the inner loop.
constexpr std::int64_t short_run = 16;
// Shorter rows of results are no inner loop.
constexpr std::int64_t short_row = 8;
// Longer dense rows are read one at a time.
constexpr std::int64_t wide_row = 128;
// Longer reduced dimensions, or fewer elements, are not folded as columns.
constexpr std::int64_t longest_folded = 2048;
constexpr std::int64_t enough_to_fold = 4096;
// Shorter transpositions gain nothing from tiles.
constexpr std::int64_t short_tile = 4;

Loop& at(LoopNest& nest, int i) { return nest.loops[static_cast<std::size_t>(i)]; }

void append(LoopNest& nest, Loop const& loop) {
  if (loop.extent != 1) at(nest, nest.count++) = loop;
}

/// Ignores overflow: only views without elements have it, and they use no offset.
void add_steps(std::int64_t& offset, std::int64_t steps, std::int64_t stride) {
  std::int64_t distance = 0;
  if (!__builtin_mul_overflow(steps, stride, &distance))
    static_cast<void>(__builtin_add_overflow(offset, distance, &offset));
}

/// True if the outer loop continues the inner one.
bool goes_on(Loop const& outer, Loop const& inner, std::size_t operand) {
  std::int64_t length = 0;
  return !__builtin_mul_overflow(inner.strides[operand], inner.extent, &length) && outer.strides[operand] == length;
}

void flip(LoopNest& nest) {
  for (int i = 0; i < nest.count; ++i) {
    Loop& loop = at(nest, i);
    auto& [first, second] = loop.strides;
    if (loop.extent == 0 || !(first < 0 || (first == 0 && second < 0))) continue;
    add_steps(nest.offsets[0], loop.extent - 1, first);
    add_steps(nest.offsets[1], loop.extent - 1, second);
    first = -first;
    second = -second;
  }
}

void sort(LoopNest& nest) {
  auto const longer = [](Loop const& left, Loop const& right) {
    if (left.strides[0] != right.strides[0]) return left.strides[0] > right.strides[0];
    return std::abs(left.strides[1]) > std::abs(right.strides[1]);
  };
  for (int i = 1; i < nest.count; ++i)
    for (int j = i; j > 0 && longer(at(nest, j), at(nest, j - 1)); --j) std::swap(at(nest, j), at(nest, j - 1));
}

void merge(LoopNest& nest) {
  int last = 0;
  for (int i = 1; i < nest.count; ++i) {
    Loop& outer = at(nest, last);
    Loop const& inner = at(nest, i);
    std::int64_t both = 0;
    if (outer.reduced == inner.reduced && goes_on(outer, inner, 0) && goes_on(outer, inner, 1) &&
        !__builtin_mul_overflow(outer.extent, inner.extent, &both))
      outer = {both, inner.strides, inner.reduced};
    else
      at(nest, ++last) = inner;
  }
  nest.count = std::min(nest.count, last + 1);
}

void move_loop(LoopNest& nest, int from, int to) {
  auto const begin = nest.loops.begin();
  if (from < to)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
}

void drop_repeats(LoopNest& nest, bool count_them) {
  int kept = 0;
  for (int i = 0; i < nest.count; ++i) {
    Loop const loop = at(nest, i);
    if (loop.reduced && loop.strides[0] == 0 && loop.extent > 0) {
      if (count_them) nest.repeat *= loop.extent;
    } else {
      at(nest, kept++) = loop;
    }
  }
  nest.count = kept;
}

/// Moves the kernel's loops to the end: `row` (reduced), `column` (kept or folded), −1 for none.
void choose_inner(LoopNest& nest, LoopKernel kernel, int row, int column) {
  nest.kernel = kernel;
  nest.inner = (row >= 0) + (column >= 0);
  bool const row_last = kernel == LoopKernel::contiguous || kernel == LoopKernel::strided;
  int const last = row_last ? row : column;
  int const other = row_last ? column : row;
  if (last >= 0) move_loop(nest, last, nest.count - 1);
  if (other >= 0) move_loop(nest, other > last && last >= 0 ? other - 1 : other, nest.count - (last >= 0 ? 2 : 1));
  std::stable_partition(nest.loops.begin(), nest.loops.begin() + (nest.count - nest.inner),
                        [](Loop const& loop) { return !loop.reduced; });
}

void choose_reduction(LoopNest& nest, std::int64_t itemsize) {
  int row = -1;
  int next_row = -1;
  int column = -1;
  for (int i = 0; i < nest.count; ++i) {
    if (at(nest, i).reduced) next_row = row;
    (at(nest, i).reduced ? row : column) = i;
  }
  auto const by_rows = [&] {
    bool const dense = row < 0 || at(nest, row).strides[0] == itemsize;
    choose_inner(nest, dense ? LoopKernel::contiguous : LoopKernel::strided, row, column);
  };
  // Walks many short runs side by side, like results.
  if (next_row > column && at(nest, next_row).extent >= short_row && at(nest, row).extent <= longest_folded &&
      (column < 0 || at(nest, row).extent * at(nest, next_row).extent >= enough_to_fold)) {
    bool const few = at(nest, row).extent < short_row;
    return choose_inner(nest, few ? LoopKernel::strided : LoopKernel::columns, next_row, row);
  }
  if (column < 0) return by_rows();
  Loop const& kept = at(nest, column);
  if (row > column) {
    if (at(nest, row).extent >= short_run || kept.extent < short_row) return by_rows();
    return choose_inner(nest, LoopKernel::columns, row, column);
  }
  if (row >= 0 && row == column - 1 && kept.strides[0] == itemsize && kept.extent <= wide_row &&
      at(nest, row).strides[0] == kept.extent * itemsize)
    return choose_inner(nest, LoopKernel::wide, row, column);
  if (row >= 0 && kept.extent < short_row && at(nest, row).extent >= short_run) return by_rows();
  choose_inner(nest, LoopKernel::columns, row, column);
}

void choose_copy(LoopNest& nest, std::int64_t target_itemsize, std::int64_t source_itemsize) {
  nest.inner = std::min(nest.count, 2);
  if (nest.count == 0) {
    nest.kernel = LoopKernel::contiguous;
    return;
  }
  Loop const& inner = at(nest, nest.count - 1);
  std::int64_t const stride = std::abs(inner.strides[1]);
  if (stride == 0) {
    nest.kernel = LoopKernel::broadcast;
    return;
  }
  if (stride == source_itemsize) {
    bool const dense = inner.strides[0] == target_itemsize && inner.strides[1] > 0;
    nest.kernel = dense ? LoopKernel::contiguous : LoopKernel::strided;
    return;
  }
  nest.kernel = LoopKernel::strided;
  int across = -1;
  for (int i = 0; i < nest.count - 1; ++i) {
    std::int64_t const other = std::abs(at(nest, i).strides[1]);
    if (other != 0 && other < stride && (across < 0 || other < std::abs(at(nest, across).strides[1]))) across = i;
  }
  if (across < 0 || at(nest, across).extent < short_tile || inner.extent < short_tile) return;
  move_loop(nest, across, nest.count - 2);
  nest.kernel = LoopKernel::tiles;
}

void settle(LoopNest& nest) {
  flip(nest);
  sort(nest);
  merge(nest);
}

/// `index_step` is 0 for a fill.
LoopNest plan_single(StridedLayout const& target, std::size_t itemsize, std::int64_t index_step) {
  LoopNest nest;
  nest.operands = index_step == 0 ? 1 : 2;
  for (int d = 0; d < target.ndim(); ++d)
    if (index_step != 0 || target.stride(d) != 0 || target.extent(d) == 0)
      append(nest, {target.extent(d), {target.stride(d), index_step}, false});
  settle(nest);
  nest.inner = std::min(nest.count, 2);
  bool const dense = nest.count == 0 || at(nest, nest.count - 1).strides[0] == static_cast<std::int64_t>(itemsize);
  nest.kernel = dense ? LoopKernel::contiguous : LoopKernel::strided;
  return nest;
}

void append_text(std::string& text, LoopNest const& nest, Loop const& loop) {
  auto const stride = [&](std::size_t operand) {
    if (loop.strides[operand] > 0) text += '+';
    text += std::to_string(loop.strides[operand]);
  };
  if (loop.reduced) text += "reduce ";
  text += std::to_string(loop.extent) + " (";
  stride(0);
  if (nest.operands == 2) {
    text += ", ";
    stride(1);
  }
  text += ')';
}

}  // namespace

std::string_view to_string(LoopKernel kernel) noexcept {
  switch (kernel) {
    case LoopKernel::contiguous: return "contiguous";
    case LoopKernel::strided: return "strided";
    case LoopKernel::columns: return "columns";
    case LoopKernel::wide: return "wide";
    case LoopKernel::tiles: return "tiles";
    case LoopKernel::broadcast: return "broadcast";
  }
  return "";
}

std::int64_t LoopNest::size() const noexcept {
  std::int64_t size = 1;
  for (Loop const& loop : all()) size *= loop.extent;
  return size;
}

std::string to_string(LoopNest const& nest) {
  std::string text;
  auto const list = [&](std::span<Loop const> loops) {
    for (std::size_t i = 0; i < loops.size(); ++i) {
      text += i == 0 ? "" : ", ";
      append_text(text, nest, loops[i]);
    }
  };
  if (!nest.outer().empty()) {
    text += "for ";
    list(nest.outer());
    text += ": ";
  }
  text += to_string(nest.kernel);
  if (nest.inner > 0) text += ": ";
  list(nest.all().last(static_cast<std::size_t>(nest.inner)));
  if (nest.repeat != 1) text += "; times " + std::to_string(nest.repeat);
  if (nest.offsets != std::array<std::int64_t, 2>{})
    text += "; from " + std::to_string(nest.offsets[0]) +
            (nest.operands == 2 ? ", " + std::to_string(nest.offsets[1]) : std::string());
  return text;
}

LoopNest plan_reduction(StridedLayout const& source, std::size_t source_itemsize, AxisMask axes,
                        StridedLayout const& result, std::size_t result_itemsize, bool counts_repeats, int parts) {
  LoopNest nest;
  nest.operands = 2;
  int kept = 0;
  for (int d = 0; d < source.ndim(); ++d) {
    bool const reduced = (axes >> d & 1U) != 0;
    std::int64_t const step = reduced ? 0 : result.stride(kept++);
    if (reduced || source.stride(d) != 0) append(nest, {source.extent(d), {source.stride(d), step}, reduced});
  }
  auto const itemsize = static_cast<std::int64_t>(source_itemsize);
  if (parts > 1) append(nest, {parts, {itemsize, static_cast<std::int64_t>(result_itemsize)}, false});
  drop_repeats(nest, counts_repeats);
  settle(nest);
  choose_reduction(nest, itemsize);
  return nest;
}

LoopNest plan_copy(StridedLayout const& target, std::size_t target_itemsize, StridedLayout const& source,
                   std::size_t source_itemsize) {
  LoopNest nest;
  nest.operands = 2;
  for (int d = 0; d < target.ndim(); ++d) append(nest, {target.extent(d), {target.stride(d), source.stride(d)}, false});
  settle(nest);
  choose_copy(nest, static_cast<std::int64_t>(target_itemsize), static_cast<std::int64_t>(source_itemsize));
  return nest;
}

LoopNest plan_fill(StridedLayout const& target, std::size_t itemsize) { return plan_single(target, itemsize, 0); }

LoopNest plan_add_index(StridedLayout const& target, std::size_t itemsize) { return plan_single(target, itemsize, 1); }

}  // namespace memarray::detail
