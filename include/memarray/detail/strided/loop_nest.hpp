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

/// Which dimensions of a view are reduced: bit d stands for dimension d.
using AxisMask = std::uint32_t;

/// What the innermost loops of a nest are.
enum class LoopKernel : std::uint8_t {
  contiguous,  ///< runs of elements that follow one another
  strided,     ///< runs of elements at a distance
  columns,     ///< a reduction: rows added to a row of results
  wide,        ///< a reduction: rows too short for that, several at once
  tiles,       ///< a transposition: small squares, so that neither side is walked across its lines
  broadcast,   ///< one element repeated
};
[[nodiscard]] MEMARRAY_API std::string_view to_string(LoopKernel kernel) noexcept;

/// How a kernel walks over views: the one planner's result for all of them. Dimensions of one element are gone, strides
/// of the operand that leads are positive, dimensions that are one for all operands are merged, and the loops are in an
/// order that suits memory. A plain value of fixed size.
struct MEMARRAY_API LoopNest {
  struct Loop {
    std::int64_t extent;
    std::array<std::int64_t, 2> strides;  ///< bytes, for each operand
    bool reduced;
  };
  /// One more than dimensions: complex numbers are summed by parts.
  static constexpr int max_loops = StridedLayout::max_ndim + 1;

  // Written as far as `count`; planning must not cost more than summing ten numbers.
  LoopNest() noexcept {}  // NOLINT(modernize-use-equals-default)

  std::array<Loop, max_loops> loops;  ///< outermost first; a reduction's outer loops: those of the result, then others
  int count = 0;
  int operands = 0;                       ///< a reduction: source, result; a copy: target, source
  std::array<std::int64_t, 2> offsets{};  ///< bytes from the element with all indices 0 to where the loops begin
  std::int64_t repeat = 1;                ///< how often a reduction meets each element
  LoopKernel kernel = LoopKernel::strided;
  int inner = 0;  ///< loops that the kernel runs itself, the last ones: at most 2

  [[nodiscard]] std::span<Loop const> all() const noexcept { return {loops.data(), static_cast<std::size_t>(count)}; }
  /// What the kernel is called for.
  [[nodiscard]] std::span<Loop const> outer() const noexcept {
    return {loops.data(), static_cast<std::size_t>(count - inner)};
  }
  [[nodiscard]] std::int64_t size() const noexcept;
};

/// "for 512 (+4096, +4): columns: reduce 4096 (+16, 0), 8 (+4, +4)": extents, and each operand's stride.
[[nodiscard]] MEMARRAY_API std::string to_string(LoopNest const& nest);

/// A reduction of `source` over `axes` into `result`, which has the other dimensions in order. `parts`: 2 for complex
/// numbers whose parts are reduced apart, with item sizes of one part. `counts_repeats`: whether an element met again
/// counts again, as in sums. Of results that are the same, as the source stands still between them, only the first is
/// in the nest.
[[nodiscard]] MEMARRAY_API LoopNest plan_reduction(StridedLayout const& source, std::size_t source_itemsize,
                                                   AxisMask axes, StridedLayout const& result,
                                                   std::size_t result_itemsize, bool counts_repeats, int parts = 1);
/// A copy between layouts of one shape.
[[nodiscard]] MEMARRAY_API LoopNest plan_copy(StridedLayout const& target, std::size_t target_itemsize,
                                              StridedLayout const& source, std::size_t source_itemsize);
/// One operand, whose elements are all visited; those at one address once.
[[nodiscard]] MEMARRAY_API LoopNest plan_fill(StridedLayout const& target, std::size_t itemsize);
/// As `plan_fill`, but with the sum of an element's indices as second operand.
[[nodiscard]] MEMARRAY_API LoopNest plan_add_index(StridedLayout const& target, std::size_t itemsize);

}  // namespace memarray::detail
