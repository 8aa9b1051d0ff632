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
  columns,     ///< a reduction: rows added to a row of results
  wide,        ///< a reduction: rows too short for `columns`, several at once
  tiles,       ///< a transposition: small squares, so that neither side is walked across its cache lines
  broadcast,   ///< one element repeated
};
[[nodiscard]] MEMARRAY_API std::string_view to_string(LoopKernel kernel) noexcept;

/// A kernel's walk over views; one planner makes it for all kernels. Dimensions of one element are removed, and strides
/// of the first operand are positive. Loops that continue each other for all operands are merged. The order of the
/// loops suits memory. A plain value of fixed size.
struct MEMARRAY_API LoopNest {
  struct Loop {
    std::int64_t extent;
    std::array<std::int64_t, 2> strides;  ///< bytes, for each operand
    bool reduced;
  };
  /// One more than a view's dimensions: complex numbers are summed by parts.
  static constexpr int max_loops = StridedLayout::max_ndim + 1;

  // Only the first `count` loops are written: planning must not cost more than summing ten numbers.
  LoopNest() noexcept {}  // NOLINT(modernize-use-equals-default)

  std::array<Loop, max_loops> loops;  ///< outermost first; those of a reduction's result before reduced ones
  int count = 0;
  int operands = 0;                       ///< a reduction: source, result; a copy: target, source
  std::array<std::int64_t, 2> offsets{};  ///< bytes from the element with all indices 0 to the start of the loops
  std::int64_t repeat = 1;                ///< how often a reduction counts each element
  LoopKernel kernel = LoopKernel::strided;
  int inner = 0;  ///< number of loops that the kernel runs itself, the last ones: at most 2

  [[nodiscard]] std::span<Loop const> all() const noexcept { return {loops.data(), static_cast<std::size_t>(count)}; }
  /// The loops around the kernel, which is called once for each of their steps.
  [[nodiscard]] std::span<Loop const> outer() const noexcept {
    return {loops.data(), static_cast<std::size_t>(count - inner)};
  }
  [[nodiscard]] std::int64_t size() const noexcept;
};

/// Returns extents and each operand's stride, such as "for 512 (+4096, +4): columns: reduce 4096 (+16, 0), 8 (+4, +4)".
[[nodiscard]] MEMARRAY_API std::string to_string(LoopNest const& nest);

/// Plans a reduction of `source` over `axes` into `result`, which has the other dimensions in order. `parts` is 2 for
/// complex numbers whose parts are reduced apart; item sizes are then those of one part. `counts_repeats`: a repeated
/// element counts again, as in sums. Along a kept dimension of source stride 0 all results are equal; the nest has only
/// the first.
[[nodiscard]] MEMARRAY_API LoopNest plan_reduction(StridedLayout const& source, std::size_t source_itemsize,
                                                   AxisMask axes, StridedLayout const& result,
                                                   std::size_t result_itemsize, bool counts_repeats, int parts = 1);
/// Plans a copy between layouts of one shape.
[[nodiscard]] MEMARRAY_API LoopNest plan_copy(StridedLayout const& target, std::size_t target_itemsize,
                                              StridedLayout const& source, std::size_t source_itemsize);
/// Plans a visit of all elements of one operand; elements at one address are visited once.
[[nodiscard]] MEMARRAY_API LoopNest plan_fill(StridedLayout const& target, std::size_t itemsize);
/// Plans a visit of all elements, with the sum of an element's indices as second operand.
[[nodiscard]] MEMARRAY_API LoopNest plan_add_index(StridedLayout const& target, std::size_t itemsize);

}  // namespace memarray::detail
