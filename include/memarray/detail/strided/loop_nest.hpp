#pragma once

#include <memarray/base/config.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace memarray::detail {

/// A set of reduced dimensions: bit d stands for dimension d.
using AxisMask = std::uint32_t;

/// The kind of a nest's innermost loops.
enum class LoopKernel : std::uint8_t {
  contiguous,  ///< runs of adjacent elements
  strided,     ///< runs of elements with any stride
  columns,     ///< a reduction: accumulates whole rows into one row of results
  wide,        ///< a reduction: like `columns`, for short dense rows, several rows at once
  tiles,       ///< a transposition in small squares, which use the cache lines of both sides well
  broadcast,   ///< one element repeated
};
[[nodiscard]] MEMARRAY_API std::string_view to_string(LoopKernel kernel) noexcept;

/// The loops of a kernel over one or two strided operands. Planning removes dimensions of one element and reverses
/// loops with a negative stride of the first operand. If that stride is 0, the second operand's sign decides. Planning
/// sorts loops by stride, then merges each loop with the next if all operands continue across them. A plain value of
/// fixed size.
struct MEMARRAY_API LoopNest {
  struct Loop {
    std::int64_t extent;
    std::array<std::int64_t, 2> strides;  ///< bytes, for each operand; see `plan_add_index`
    bool reduced;
  };
  /// One more than a view's dimensions: complex numbers are summed by parts.
  static constexpr int max_loops = StridedLayout::max_ndim + 1;

  // Leaves `loops` uninitialized to save time; only the first `count` loops are valid.
  LoopNest() noexcept {}  // NOLINT(modernize-use-equals-default)

  std::array<Loop, max_loops> loops;  ///< outermost first; in `outer()`, loops over results precede reduced loops
  int count = 0;
  int operands = 0;                       ///< number, 1 or 2; a reduction has source, result; a copy target, source
  std::array<std::int64_t, 2> offsets{};  ///< for each operand: bytes from the element with all indices 0 to the start
  std::int64_t repeat = 1;  ///< how often a sum counts each element: planning drops loops of source stride 0
  LoopKernel kernel = LoopKernel::strided;
  int inner = 0;  ///< number of loops that the kernel runs itself, the last ones: at most 2

  [[nodiscard]] std::span<Loop const> all() const noexcept { return {loops.data(), static_cast<std::size_t>(count)}; }
  /// The loops around the kernel, which is called once for each of their steps.
  [[nodiscard]] std::span<Loop const> outer() const noexcept {
    return {loops.data(), static_cast<std::size_t>(count - inner)};
  }
  [[nodiscard]] std::int64_t size() const noexcept;
};

/// Describes a nest: extents and each operand's stride, "for 20 (+4800, +160): wide: reduce 30 (+160, 0), 40 (+4, +4)".
/// Adds `repeat` and `offsets` if they are not the defaults.
[[nodiscard]] MEMARRAY_API std::string to_string(LoopNest const& nest);

/// Plans a reduction of `source` over `axes` into `result`, which has the other dimensions in order. `parts` is 2 for
/// complex numbers whose parts are reduced apart; item sizes are then those of one part. `counts_repeats`: `repeat`
/// counts elements repeated by a source stride of 0, as sums need. Along a kept dimension of source stride 0 the nest
/// computes the first result only; the caller copies it to the others.
[[nodiscard]] MEMARRAY_API LoopNest plan_reduction(StridedLayout const& source, std::size_t source_itemsize,
                                                   AxisMask axes, StridedLayout const& result,
                                                   std::size_t result_itemsize, bool counts_repeats, int parts = 1);
/// Plans a copy between layouts of one shape.
[[nodiscard]] MEMARRAY_API LoopNest plan_copy(StridedLayout const& target, std::size_t target_itemsize,
                                              StridedLayout const& source, std::size_t source_itemsize);
/// Plans a write of one value to all elements. Skips dimensions of stride 0, so that each address is written once.
[[nodiscard]] MEMARRAY_API LoopNest plan_fill(StridedLayout const& target, std::size_t itemsize);
/// Plans the addition of each element's index sum. The second operand is that sum: its strides and offset count
/// indices, not bytes.
[[nodiscard]] MEMARRAY_API LoopNest plan_add_index(StridedLayout const& target, std::size_t itemsize);

}  // namespace memarray::detail
