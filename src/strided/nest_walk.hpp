#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/base/threads.hpp>
#include <memarray/detail/strided/loop_nest.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace memarray::detail {

/// A position in a walk over loops.
class Odometer {
 public:
  MEMARRAY_ALWAYS_INLINE Odometer(std::span<LoopNest::Loop const> loops, std::int64_t position) noexcept
      : _loops(loops) {
    for (std::size_t i = _loops.size(); i-- > 0;) {
      std::int64_t const extent = _loops[i].extent;
      _at[i] = position % extent;
      position /= extent;
      _first += _at[i] * _loops[i].strides[0];
      _second += _at[i] * _loops[i].strides[1];
    }
  }

  /// Returns each operand's offset in bytes.
  [[nodiscard]] std::int64_t first() const noexcept { return _first; }
  [[nodiscard]] std::int64_t second() const noexcept { return _second; }

  /// Wraps after the last step.
  MEMARRAY_ALWAYS_INLINE void next() noexcept {
    for (std::size_t i = _loops.size(); i-- > 0;) {
      LoopNest::Loop const& loop = _loops[i];
      _first += loop.strides[0];
      _second += loop.strides[1];
      if (++_at[i] < loop.extent) return;
      _at[i] = 0;
      _first -= loop.extent * loop.strides[0];
      _second -= loop.extent * loop.strides[1];
    }
  }

 private:
  std::span<LoopNest::Loop const> _loops;
  std::array<std::int64_t, LoopNest::max_loops> _at;
  std::int64_t _first = 0;
  std::int64_t _second = 0;
};

[[nodiscard]] inline std::int64_t steps_of(std::span<LoopNest::Loop const> loops) noexcept {
  std::int64_t steps = 1;
  for (LoopNest::Loop const& loop : loops) steps *= loop.extent;
  return steps;
}

[[nodiscard]] constexpr std::int64_t divide_up(std::int64_t dividend, std::int64_t divisor) noexcept {
  return (dividend + divisor - 1) / divisor;
}

inline constexpr std::size_t release_bytes = std::size_t{1} << 16;

/// Calls `run(begin, end)` for ranges of `units`, on threads if `bytes` justifies it. Releases the interpreter lock
/// from `release_bytes` on.
template <class Run>
void run_in_pieces(std::int64_t units, std::int64_t units_per_piece, std::size_t bytes, Run const& run) {
  std::optional<RuntimeRelease> released;
  if (bytes >= release_bytes) released.emplace();
  if (units <= units_per_piece || parallel_chunks(bytes) <= 1) return run(std::int64_t{0}, units);
  parallel_for(divide_up(units, units_per_piece), [&](std::int64_t piece) {
    run(piece * units_per_piece, std::min(units, (piece + 1) * units_per_piece));
  });
}

/// A rectangle of a nest's last two loops, with each operand's byte offset.
struct Region {
  std::int64_t first;
  std::int64_t second;
  std::int64_t rows;
  std::int64_t columns;
};

/// Calls `visit` for regions of at most `most_rows` × `most_columns` elements, like `run_in_pieces`. Missing loops
/// count as one step.
template <class Visit>
void visit_regions(LoopNest const& nest, std::int64_t most_rows, std::int64_t most_columns, std::size_t itemsize,
                   Visit const& visit) {
  constexpr std::int64_t piece_bytes = std::int64_t{1} << 18;
  constexpr LoopNest::Loop once{1, {0, 0}, false};
  std::span<LoopNest::Loop const> const all = nest.all();
  auto const outer = all.first(all.size() - std::min<std::size_t>(all.size(), 2));
  LoopNest::Loop const& row = all.size() >= 2 ? all[all.size() - 2] : once;
  LoopNest::Loop const& column = all.empty() ? once : all.back();
  std::int64_t const size = nest.size();
  if (size == 0) return;
  most_columns = std::min(most_columns, column.extent);
  most_rows = std::min(most_rows, row.extent);
  std::int64_t const across = divide_up(column.extent, most_columns);
  std::int64_t const down = divide_up(row.extent, most_rows);
  std::int64_t const units = steps_of(outer) * down * across;
  std::int64_t const unit_bytes = most_rows * most_columns * static_cast<std::int64_t>(itemsize);
  run_in_pieces(units, std::max<std::int64_t>(1, piece_bytes / unit_bytes), static_cast<std::size_t>(size) * itemsize,
                [&](std::int64_t begin, std::int64_t end) {
                  Odometer at(outer, begin / (down * across));
                  std::int64_t y = begin / across % down;
                  std::int64_t x = begin % across;
                  for (; begin < end; ++begin) {
                    std::int64_t const top = y * most_rows;
                    std::int64_t const left = x * most_columns;
                    visit(Region{at.first() + top * row.strides[0] + left * column.strides[0],
                                 at.second() + top * row.strides[1] + left * column.strides[1],
                                 std::min(most_rows, row.extent - top), std::min(most_columns, column.extent - left)});
                    if (++x < across) continue;
                    x = 0;
                    if (++y < down) continue;
                    y = 0;
                    at.next();
                  }
                });
}

}  // namespace memarray::detail
