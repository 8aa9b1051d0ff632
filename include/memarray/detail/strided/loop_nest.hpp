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

/// Reduced dimensions: bit d stands for dimension d.
using AxisMask = std::uint32_t;

enum class LoopKernel : std::uint8_t {
  contiguous,  ///< runs of adjacent elements
  strided,     ///< runs of elements with any stride
  columns,     ///< a reduction of whole rows into one row of results
  wide,        ///< like `columns`, for short dense rows, several at once
  tiles,       ///< a transposition in small squares
  broadcast,   ///< one element repeated
};
[[nodiscard]] MEMARRAY_API std::string_view to_string(LoopKernel kernel) noexcept;

/// The loops of a kernel over one or two strided operands. Planning drops dimensions of one element and reverses loops
/// whose first nonzero stride is negative. It sorts loops by stride and merges those that continue each other.
struct MEMARRAY_API LoopNest {
  struct Loop {
    std::int64_t extent;
    std::array<std::int64_t, 2> strides;  ///< bytes, for each operand; see `plan_add_index`
    bool reduced;
  };
  /// Complex numbers, summed by parts, add a loop.
  static constexpr int max_loops = StridedLayout::max_ndim + 1;

  // Leaves `loops` uninitialized to save time.
  LoopNest() noexcept {}  // NOLINT(modernize-use-equals-default)

  std::array<Loop, max_loops> loops;  ///< outermost first; in `outer()`, loops over results precede reduced loops
  int count = 0;
  int operands = 0;                       ///< 1 or 2: source and result, or target and source
  std::array<std::int64_t, 2> offsets{};  ///< bytes from the element with all indices 0 to the start
  std::int64_t repeat = 1;                ///< how often a sum counts each element: loops of source stride 0 are dropped
  LoopKernel kernel = LoopKernel::strided;
  int inner = 0;  ///< number of last loops in the kernel: at most 2

  [[nodiscard]] std::span<Loop const> all() const noexcept { return {loops.data(), static_cast<std::size_t>(count)}; }
  /// The loops around the kernel.
  [[nodiscard]] std::span<Loop const> outer() const noexcept {
    return {loops.data(), static_cast<std::size_t>(count - inner)};
  }
  [[nodiscard]] std::int64_t size() const noexcept;
};

/// Describes extents and strides: "for 20 (+4800, +160): wide: reduce 30 (+160, 0), 40 (+4, +4)".
[[nodiscard]] MEMARRAY_API std::string to_string(LoopNest const& nest);

/// Plans a reduction over `axes` into `result`, which has the other dimensions. `parts`: 2 if parts of complex numbers
/// are reduced apart; item sizes are then a part's. `counts_repeats`: `repeat` counts elements repeated by a source
/// stride of 0. Along kept dimensions of source stride 0 the nest computes only the first result.
[[nodiscard]] MEMARRAY_API LoopNest plan_reduction(StridedLayout const& source, std::size_t source_itemsize,
                                                   AxisMask axes, StridedLayout const& result,
                                                   std::size_t result_itemsize, bool counts_repeats, int parts = 1);
[[nodiscard]] MEMARRAY_API LoopNest plan_copy(StridedLayout const& target, std::size_t target_itemsize,
                                              StridedLayout const& source, std::size_t source_itemsize);
/// Plans one write to each address.
[[nodiscard]] MEMARRAY_API LoopNest plan_fill(StridedLayout const& target, std::size_t itemsize);
/// Plans adding index sums, the second operand, whose strides and offset count indices.
[[nodiscard]] MEMARRAY_API LoopNest plan_add_index(StridedLayout const& target, std::size_t itemsize);

}  // namespace memarray::detail
