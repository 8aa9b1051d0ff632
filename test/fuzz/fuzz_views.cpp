#include "fuzz.hpp"
#include "sliced.hpp"
#include "strided/simd_level.hpp"
#include "strided/strided_copy.hpp"
#include "strided/strided_expected.hpp"
#include "strided/strided_fill.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/strided/strided_plan.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

// Compares layouts, their slices and other derived layouts, and the kernels that traverse them with a list of all
// element places. Layouts too large for memory are only sliced and planned, without overflow.
namespace memarray::fuzz {
namespace {

using detail::AxisMask;
using detail::Reduction;
constexpr std::int64_t most_bytes = 1 << 17;

/// Makes every plan of a layout. A plan must account for all elements, and its arithmetic must not overflow.
void plan_all(DType const& dtype, StridedLayout const& layout, AxisMask axes) {
  for (char const* const operation : {"sum", "mean", "min", "max", "copy", "cast", "fill", "add_index"}) {
    try {
      detail::LoopNest const nest = detail::plan(operation, dtype, layout, axes);
      static_cast<void>(detail::to_string(nest));
      check(nest.count >= 0 && nest.count <= detail::LoopNest::max_loops, "loops beyond the end");
      check(nest.inner >= 0 && nest.inner <= std::min(nest.count, 2), "the kernel's loops");
      if (operation == std::string_view("copy")) {
        Numbers extents;
        for (auto const& loop : nest.all()) extents.push_back(loop.extent);
        check(product(extents) == product(layout.shape()), "a copy of other elements");
      }
    } catch (ValueError const&) {
      check(operation == std::string_view("min") || operation == std::string_view("max"), "refused");
    } catch (OverflowError const&) {
      // A result too large for memory.
    }
  }
}

DType const& dtype_from(Input& input) {
  return shipped_dtypes()[static_cast<std::size_t>(input.below(static_cast<std::int64_t>(shipped_dtypes().size())))];
}

void reduce(Reduction reduction, View const& view, AxisMask axes, test::Random& random) {
  Numbers const kept = test::kept_of({view.layout().shape().begin(), view.layout().shape().end()}, axes);
  DType const& dtype = detail::reduced_dtype(reduction, view.dtype());
  View result(dtype, random.layout(kept, dtype.itemsize, false));
  auto const wanted = test::expected(reduction, view, axes);
  bool const by_order = reduction == Reduction::min || reduction == Reduction::max;
  try {
    detail::reduce(reduction, view.source(), axes, result.target());
  } catch (ValueError const&) {
    Wide terms = 1;
    for (int d = 0; d < view.layout().ndim(); ++d)
      if ((axes >> d & 1U) != 0) terms *= view.layout().extent(d);
    check(by_order && terms == 0, "refused");
    return;
  }
  check(wanted.has_value(), "the least of nothing");
  for (auto const& [index, number] : *wanted) {
    test::Number const found = result.get(index);
    check(test::same(found, number) || (by_order && test::has_nan(found) && test::has_nan(number)), "another result");
  }
  check(result.surroundings_are_whole(), "written beside the result");
}

void copy(View const& source, DType const& to, test::Random& random) {
  Numbers const shape(source.layout().shape().begin(), source.layout().shape().end());
  View target(to, random.layout(shape, to.itemsize, false));
  detail::copy(target.target(), source.source());
  View::for_each_index(shape, [&](Numbers const& index) {
    check(test::same(target.get(index), test::as_number(source.dtype(), to, source.get(index))), "another element");
  });
  check(target.surroundings_are_whole(), "written beside the copy");
}

void fill_and_count(View view, test::Random& random) {
  test::Number const three{3, 3, 3};  // also where complex numbers share a part
  std::array<std::byte, 16> element{};
  test::write(view.dtype(), element.data(), three);
  detail::fill(view.target(), element.data());
  test::Number const written = test::read(view.dtype(), element.data());
  Numbers const shape(view.layout().shape().begin(), view.layout().shape().end());
  View::for_each_index(shape, [&](Numbers const& index) { check(test::same(view.get(index), written), "not filled"); });
  check(view.surroundings_are_whole(), "filled beside the elements");
  View counted(dtype_of<std::int64_t>(), random.layout(shape, 8, false));
  random.fill(counted, true);
  View const before = counted;
  detail::add_index(counted.target(), counted.target().data);
  View::for_each_index(shape, [&](Numbers const& index) {
    auto sum = before.get(index).whole;
    for (std::int64_t const i : index) sum += static_cast<std::uint64_t>(i);
    check(counted.get(index).whole == sum, "another sum of indices");
  });
}

void compute(Input& input, DType const& dtype, StridedLayout const& layout) {
  StridedLayout::Span const span = layout.span(dtype.itemsize);
  if (!is_small(layout) || span.last - span.first > most_bytes) return;
  // Kernels require aligned elements.
  for (int d = 0; d < layout.ndim(); ++d)
    if (layout.extent(d) > 1 && layout.stride(d) % dtype.alignment != 0) return;
  detail::limit_simd_level(static_cast<detail::SimdLevel>(input.below(3)));
  auto const axes = static_cast<AxisMask>(input.raw<std::uint16_t>()) & detail::every_axis(layout.ndim());
  test::Random random(input.raw<std::uint16_t>());
  View view(dtype, layout);
  random.fill(view, true, input.one_in(4));
  switch (input.below(4)) {
    case 0: reduce(static_cast<Reduction>(input.below(4)), view, axes, random); break;
    case 1: copy(view, dtype, random); break;
    case 2: {
      View plain(dtype, layout);
      random.fill(plain, true);
      copy(plain, dtype_from(input), random);
      break;
    }
    default: fill_and_count(view, random);
  }
}

StridedLayout layout_from(Input& input, DType const& dtype, bool anything) {
  Numbers shape(static_cast<std::size_t>(input.below(anything ? 18 : 7)));
  Numbers strides(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    shape[d] = anything ? input.number() : input.one_in(3) ? input.below(70) : input.below(7);
    strides[d] = anything ? input.number() : input.raw<std::int8_t>() * std::int64_t{dtype.alignment};
  }
  if (input.flag()) return StridedLayout::dense(shape, dtype.itemsize);
  return StridedLayout::strided(shape, strides, dtype.itemsize);
}

void run(Input& input) {
  DType const& dtype = dtype_from(input);
  std::optional<Sliced> sliced;
  try {
    sliced.emplace(layout_from(input, dtype, input.one_in(3)), dtype.itemsize);
  } catch (ValueError const&) {
    return;
  } catch (OverflowError const&) {
    return;
  }
  sliced->compare();
  for (std::int64_t changes = input.below(8); changes > 0; --changes) sliced->change(input);
  StridedLayout const& layout = sliced->layout();
  plan_all(dtype, layout, static_cast<AxisMask>(input.raw<std::uint16_t>()) & detail::every_axis(layout.ndim()));
  compute(input, dtype, layout);
}

}  // namespace
}  // namespace memarray::fuzz

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  memarray::fuzz::Input input({data, size});
  memarray::fuzz::run(input);
  return 0;
}
