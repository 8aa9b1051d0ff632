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

/// Reduced dimensions: bit d for dimension d.
using AxisMask = std::uint32_t;
[[nodiscard]] constexpr AxisMask every_axis(int ndim) noexcept { return (AxisMask{1} << ndim) - 1; }

enum class LoopKernel : std::uint8_t {
  contiguous,  ///< runs of adjacent elements
  strided,     ///< runs of elements with any stride
  columns,     ///< whole rows reduced into a row of results
  wide,        ///< like `columns`, for short dense rows, several at once
  tiles,       ///< a transposition in small squares
  broadcast,   ///< one element repeated
};
[[nodiscard]] MEMARRAY_API std::string_view to_string(LoopKernel kernel) noexcept;

/// Loops over one or two strided operands. Planning drops one-element dimensions, reverses loops whose first nonzero
/// stride is negative, sorts loops by stride, and merges loops that continue each other.
struct MEMARRAY_API LoopNest {
  struct Loop {
    std::int64_t extent;
    std::array<std::int64_t, 2> strides;  ///< bytes, for each operand (but see `plan_add_index`)
    bool reduced;
  };
  /// One more for the parts of complex numbers.
  static constexpr int max_loops = StridedLayout::max_ndim + 1;

  // Leaves `loops` uninitialized, for speed.
  LoopNest() noexcept {}  // NOLINT(modernize-use-equals-default)

  std::array<Loop, max_loops> loops;  ///< outermost first; in `outer()`, loops over results precede reduced loops
  int count = 0;
  int operands = 0;                       ///< 1 or 2: source and result, or target and source
  std::array<std::int64_t, 2> offsets{};  ///< bytes from the element at indices 0 to the start
  std::int64_t repeat = 1;                ///< factor of a sum: reduced loops of source stride 0 are dropped
  LoopKernel kernel = LoopKernel::strided;
  int inner = 0;  ///< number of last loops that the kernel runs: at most 2

  [[nodiscard]] std::span<Loop const> all() const noexcept { return {loops.data(), static_cast<std::size_t>(count)}; }
  [[nodiscard]] std::span<Loop const> outer() const noexcept {
    return {loops.data(), static_cast<std::size_t>(count - inner)};
  }
  [[nodiscard]] std::int64_t size() const noexcept;
};

/// Lists extents and strides: "for 20 (+4800, +160): wide: reduce 30 (+160, 0), 40 (+4, +4)".
[[nodiscard]] MEMARRAY_API std::string to_string(LoopNest const& nest);

/// Plans a reduction over `axes` into `result`, which has the other dimensions. `parts`: 2 to reduce the parts of
/// complex numbers separately; item sizes are then a part's. `counts_repeats`: sets `repeat`, for sums. Along kept
/// dimensions of source stride 0, only the first result is computed.
[[nodiscard]] MEMARRAY_API LoopNest plan_reduction(StridedLayout const& source, std::size_t source_itemsize,
                                                   AxisMask axes, StridedLayout const& result,
                                                   std::size_t result_itemsize, bool counts_repeats, int parts = 1);
[[nodiscard]] MEMARRAY_API LoopNest plan_copy(StridedLayout const& target, std::size_t target_itemsize,
                                              StridedLayout const& source, std::size_t source_itemsize);
/// Plans a fill, without dimensions of stride 0.
[[nodiscard]] MEMARRAY_API LoopNest plan_fill(StridedLayout const& target, std::size_t itemsize);
/// Plans adding index sums: the second operand, with strides and offset in indices.
[[nodiscard]] MEMARRAY_API LoopNest plan_add_index(StridedLayout const& target, std::size_t itemsize);

}  // namespace memarray::detail
