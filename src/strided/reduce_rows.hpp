#pragma once

#include "read_pattern.hpp"
#include "reduce_block.hpp"
#include "simd_level.hpp"
#include "simd_targets.hpp"

#include <memarray/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

// Loops over rows of adjacent elements, or of every second element. Eight rows are read at once or one after the other
// (`ReadPattern`).
//
// An `Op` has types `Element` and `Accumulator`, and functions `nothing()`, `load(element, flip)` and `combine(earlier,
// later)`; for vectors, `load_all(lanes, elements, flip)` and `combine_all(lanes, lanes)`.
namespace memarray::detail {

// Prefetch distances in bytes; `panel_ahead` if whole cache lines are used.
inline constexpr std::int64_t prefetch_ahead = 1024;
inline constexpr std::int64_t panel_ahead = 2048;
inline constexpr std::int64_t streams = 8;

/// Vectors as wide as registers: compilers split wider ones into elements.
template <class Op, std::size_t bytes>
struct Lanes {
  using Element = typename Op::Element;
  using Accumulator = typename Op::Accumulator;
  static constexpr std::int64_t count = bytes / sizeof(Accumulator);
  typedef Accumulator Sums __attribute__((vector_size(bytes)));
  typedef Element Elements __attribute__((vector_size(bytes / sizeof(Accumulator) * sizeof(Element))));

  /// Reads every `step`th element, without touching memory behind the last.
  template <std::int64_t step>
  MEMARRAY_ALWAYS_INLINE static void read(Elements& elements, std::byte const* source) {
    std::memcpy(&elements, source, sizeof elements);
    if constexpr (step == 2) {
      Elements last;
      std::memcpy(&last, source + (count - 1) * static_cast<std::int64_t>(sizeof(Element)), sizeof last);
      take_evens(elements, last, std::make_index_sequence<static_cast<std::size_t>(count)>());
    }
  }
  MEMARRAY_ALWAYS_INLINE static void clear(Sums& sums) { sums = Op::nothing() - Sums{}; }
  MEMARRAY_ALWAYS_INLINE static Accumulator whole(Sums const& sums) {
    Accumulator lanes[static_cast<std::size_t>(count)];
    std::memcpy(lanes, &sums, sizeof lanes);
    for (std::int64_t half = count / 2; half > 0; half /= 2)
      for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] = Op::combine(lanes[lane], lanes[lane + half]);
    return lanes[0];
  }

 private:
  template <std::size_t... lanes>
  MEMARRAY_ALWAYS_INLINE static void take_evens(Elements& first, Elements const& last, std::index_sequence<lanes...>) {
    first = __builtin_shufflevector(first, last, (2 * lanes < count ? 2 * lanes : 2 * lanes + 1)...);
  }
};

/// Eight streams, `row_stride` bytes apart, of `times` rows of `columns` elements. `jump`: bytes from a row's end to
/// its stream's next row. Loops take panels by value, as their stores might alias a reference.
struct Panel {
  std::byte const* source;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t jump;
  std::int64_t times = 1;
  ReadPattern pattern = ReadPattern::interleaved;
};

template <class Op, std::int64_t step, std::size_t bytes>
struct RowLoops {
  using Element = typename Op::Element;
  using Accumulator = typename Op::Accumulator;
  using L = Lanes<Op, bytes>;
  static constexpr auto item = static_cast<std::int64_t>(sizeof(Element)) * step;
  static constexpr std::int64_t of_line = 64 / item;

  MEMARRAY_ALWAYS_INLINE static Accumulator load(std::byte const* address, std::uint64_t flip) {
    return Op::load(*reinterpret_cast<Element const*>(address), flip);
  }
  MEMARRAY_ALWAYS_INLINE static void load_all(typename L::Sums& sums, std::byte const* source, std::uint64_t flip) {
    typename L::Elements elements;
    L::template read<step>(elements, source);
    Op::load_all(sums, elements, flip);
  }
  MEMARRAY_ALWAYS_INLINE static void take(typename L::Sums& sums, std::byte const* source, std::uint64_t flip) {
    typename L::Sums next;
    load_all(next, source, flip);
    Op::combine_all(sums, next);
  }
  /// Combines vectors in a tree, which accumulates less rounding error.
  template <std::int64_t count>
  MEMARRAY_ALWAYS_INLINE static void take_tree(typename L::Sums& sums, std::byte const* source, std::int64_t stride,
                                               std::uint64_t flip) {
    typename L::Sums tree[static_cast<std::size_t>(count)];
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < count; ++i) load_all(tree[i], source + i * stride, flip);
#pragma GCC unroll 4
    for (std::int64_t apart = 1; apart < count; apart *= 2)
#pragma GCC unroll 8
      for (std::int64_t i = 0; i + apart < count; i += 2 * apart) Op::combine_all(tree[i], tree[i + apart]);
    Op::combine_all(sums, tree[0]);
  }
  MEMARRAY_ALWAYS_INLINE static std::int64_t ahead_of(Panel const& panel, std::int64_t column) {
    // Short rows prefetch their stream's next row.
    std::int64_t const ahead = column * item + std::min(panel_ahead, panel.columns * item);
    return ahead + (ahead < panel.columns * item ? 0 : panel.jump);
  }

  /// Folds each stream to its own result.
  MEMARRAY_ALWAYS_INLINE static void fold_panel(Accumulator* results, Panel panel, std::uint64_t flip) {
    if (panel.pattern == ReadPattern::sequential && has_long_runs(panel)) {
      for (std::int64_t r = 0; r < streams; ++r, panel.source += panel.row_stride)
        results[r] = fold_stream(results[r], panel, flip);
      return;
    }
    // Processors do not prefetch shorter runs.
    if (panel.pattern == ReadPattern::interleaved || panel.columns * item < page_run)
      return fold_at_once<true>(results, panel, flip);
    fold_at_once<false>(results, panel, flip);
  }

  /// True if sequential reads have long runs: shorter ones are faster in eight places.
  MEMARRAY_ALWAYS_INLINE static bool has_long_runs(Panel const& panel) {
    constexpr std::int64_t long_run = 16384;
    std::int64_t const run = panel.columns * item;
    return run >= long_run || has_small_gap(panel.times > 1 ? panel.jump : panel.row_stride - run);
  }

  /// Folds the first stream with the additions of `fold_at_once`, in their order.
  MEMARRAY_ALWAYS_INLINE static Accumulator fold_stream(Accumulator rest, Panel const& panel, std::uint64_t flip) {
    typename L::Sums sums;
    L::clear(sums);
    std::byte const* source = panel.source;
    for (std::int64_t t = 0; t < panel.times; ++t) {
      std::int64_t i = 0;
      for (; i + of_line <= panel.columns; i += of_line)
        take_tree<of_line / L::count>(sums, source + i * item, L::count * item, flip);
      for (; i + L::count <= panel.columns; i += L::count) take(sums, source + i * item, flip);
      for (; i < panel.columns; ++i) rest = Op::combine(rest, load(source + i * item, flip));
      source += panel.columns * item + panel.jump;
    }
    return Op::combine(rest, L::whole(sums));
  }

  template <bool prefetches>
  MEMARRAY_ALWAYS_INLINE static void fold_at_once(Accumulator* results, Panel panel, std::uint64_t flip) {
    typename L::Sums sums[streams];
    Accumulator rest[streams];
#pragma GCC unroll 8
    for (std::int64_t r = 0; r < streams; ++r) L::clear(sums[r]);
    for (std::int64_t r = 0; r < streams; ++r) rest[r] = results[r];
    std::byte const* source = panel.source;
    for (std::int64_t t = 0; t < panel.times; ++t) {
      std::int64_t i = 0;
      for (; i + of_line <= panel.columns; i += of_line) {
        std::byte const* const next = source + ahead_of(panel, i);
#pragma GCC unroll 8
        for (std::int64_t r = 0; r < streams; ++r) {
          if constexpr (prefetches) __builtin_prefetch(next + r * panel.row_stride);
          take_tree<of_line / L::count>(sums[r], source + r * panel.row_stride + i * item, L::count * item, flip);
        }
      }
      for (; i + L::count <= panel.columns; i += L::count)
#pragma GCC unroll 8
        for (std::int64_t r = 0; r < streams; ++r) take(sums[r], source + r * panel.row_stride + i * item, flip);
      for (; i < panel.columns; ++i)
        for (std::int64_t r = 0; r < streams; ++r)
          rest[r] = Op::combine(rest[r], load(source + r * panel.row_stride + i * item, flip));
      source += panel.columns * item + panel.jump;
    }
    for (std::int64_t r = 0; r < streams; ++r) results[r] = Op::combine(rest[r], L::whole(sums[r]));
  }

  MEMARRAY_ALWAYS_INLINE static Accumulator fold_row(std::byte const* source, std::int64_t columns,
                                                     std::uint64_t flip) {
    constexpr std::int64_t chains = 4;
    typename L::Sums sums[chains];
#pragma GCC unroll 4
    for (auto& chain : sums) L::clear(chain);
    std::int64_t i = 0;
    for (; i + chains * L::count <= columns; i += chains * L::count) {
      __builtin_prefetch(source + i * item + prefetch_ahead);
#pragma GCC unroll 4
      for (std::int64_t u = 0; u < chains; ++u) take(sums[u], source + (i + u * L::count) * item, flip);
    }
    for (; i + L::count <= columns; i += L::count) take(sums[0], source + i * item, flip);
    Op::combine_all(sums[0], sums[1]);
    Op::combine_all(sums[2], sums[3]);
    Op::combine_all(sums[0], sums[2]);
    Accumulator result = L::whole(sums[0]);
    for (; i < columns; ++i) result = Op::combine(result, load(source + i * item, flip));
    return result;
  }

  /// Adds each stream's first row to a row of results.
  MEMARRAY_ALWAYS_INLINE static void add_panel(Accumulator* results, Panel panel, std::uint64_t flip) {
    std::int64_t i = 0;
    for (; i + of_line <= panel.columns; i += of_line) {
      if (panel.pattern == ReadPattern::interleaved) {
        std::byte const* const next = panel.source + ahead_of(panel, i);
#pragma GCC unroll 8
        for (std::int64_t r = 0; r < streams; ++r) __builtin_prefetch(next + r * panel.row_stride);
      }
#pragma GCC unroll 8
      for (std::int64_t u = 0; u < of_line; u += L::count) {
        typename L::Sums sums;
        std::memcpy(&sums, results + i + u, sizeof sums);
        take_tree<streams>(sums, panel.source + (i + u) * item, panel.row_stride, flip);
        std::memcpy(results + i + u, &sums, sizeof sums);
      }
    }
    for (; i < panel.columns; ++i)
      for (std::int64_t r = 0; r < streams; ++r)
        results[i] = Op::combine(results[i], load(panel.source + r * panel.row_stride + i * item, flip));
  }

  MEMARRAY_ALWAYS_INLINE static void add_row(Accumulator* results, std::byte const* source, std::int64_t columns,
                                             std::uint64_t flip) {
    std::int64_t i = 0;
    for (; i + L::count <= columns; i += L::count) {
      typename L::Sums sums;
      std::memcpy(&sums, results + i, sizeof sums);
      take(sums, source + i * item, flip);
      std::memcpy(results + i, &sums, sizeof sums);
    }
    for (; i < columns; ++i) results[i] = Op::combine(results[i], load(source + i * item, flip));
  }
};

template <class Op>
struct RowKernels {
  using Accumulator = typename Op::Accumulator;
  void (*fold_panel)(Accumulator* results, Panel const& panel, std::uint64_t flip);
  Accumulator (*fold_row)(std::byte const* source, std::int64_t columns, std::uint64_t flip);
  void (*add_panel)(Accumulator* results, Panel const& panel, std::uint64_t flip);
  void (*add_row)(Accumulator* results, std::byte const* source, std::int64_t columns, std::uint64_t flip);
};

#define MEMARRAY_ROW_KERNELS(name, bytes, target)                                                           \
  template <class Op, std::int64_t step>                                                                    \
  struct name {                                                                                             \
    using Accumulator = typename Op::Accumulator;                                                           \
    using Loops = RowLoops<Op, step, bytes>;                                                                \
    target static void fold_panel(Accumulator* results, Panel const& panel, std::uint64_t flip) {           \
      Loops::fold_panel(results, panel, flip);                                                              \
    }                                                                                                       \
    target static Accumulator fold_row(std::byte const* source, std::int64_t columns, std::uint64_t flip) { \
      return Loops::fold_row(source, columns, flip);                                                        \
    }                                                                                                       \
    target static void add_panel(Accumulator* results, Panel const& panel, std::uint64_t flip) {            \
      Loops::add_panel(results, panel, flip);                                                               \
    }                                                                                                       \
    target static void add_row(Accumulator* results, std::byte const* source, std::int64_t columns,         \
                               std::uint64_t flip) {                                                        \
      Loops::add_row(results, source, columns, flip);                                                       \
    }                                                                                                       \
    static constexpr RowKernels<Op> kernels{fold_panel, fold_row, add_panel, add_row};                      \
  }
MEMARRAY_ROW_KERNELS(PortableRows, 16, );
#if defined(MEMARRAY_SIMD_TARGETS)
MEMARRAY_ROW_KERNELS(Avx2Rows, 32, MEMARRAY_AVX2);
#endif
#undef MEMARRAY_ROW_KERNELS

/// AVX-512 would be no faster: memory is the bottleneck.
template <class Op, std::int64_t step>
RowKernels<Op> const& row_kernels() noexcept {
#if defined(MEMARRAY_SIMD_TARGETS)
  if (widest_simd_level() != SimdLevel::baseline) return Avx2Rows<Op, step>::kernels;
#endif
  return PortableRows<Op, step>::kernels;
}

}  // namespace memarray::detail
