#include <memarray/base/errors.hpp>
#include <memarray/detail/strided/strided_plan.hpp>

#include <array>
#include <string>

namespace memarray::detail {

StridedLayout reduced_layout(Reduction reduction, DType const& dtype, StridedLayout const& layout, AxisMask axes) {
  std::array<std::int64_t, StridedLayout::max_ndim> kept{};
  std::size_t count = 0;
  for (int d = 0; d < layout.ndim(); ++d)
    if ((axes >> d & 1U) == 0) kept[count++] = layout.extent(d);
  return StridedLayout::dense({kept.data(), count}, reduced_dtype(reduction, dtype).itemsize);
}

LoopNest plan(std::string_view operation, DType const& dtype, StridedLayout const& layout, AxisMask axes,
              std::size_t to) {
  for (Reduction const reduction : {Reduction::sum, Reduction::mean, Reduction::min, Reduction::max}) {
    if (operation != to_string(reduction)) continue;
    return plan_reduce(reduction, dtype, layout, axes, reduced_layout(reduction, dtype, layout, axes));
  }
  if (operation == "fill") return plan_fill(layout, dtype.itemsize);
  if (operation == "add_index") return plan_add_index(layout, dtype.itemsize);
  if (operation != "copy" && operation != "cast")
    throw ValueError("plans are for sum, mean, min, max, copy, cast, fill and add_index, not \"" +
                     std::string(operation) + "\"");
  std::size_t const itemsize = operation == "cast" ? to : dtype.itemsize;
  return plan_copy(StridedLayout::dense(layout.shape(), itemsize), itemsize, layout, dtype.itemsize);
}

}  // namespace memarray::detail
