#include "parts.hpp"

#include <cuda/std/mdspan>

#include <span>
#include <string>

namespace arguments {
namespace {

using memarray::ArrayView;
using memarray::c_order;
using memarray::f_order;
using memarray::on_device;

template <class Index, std::size_t... extents>
using Right = cuda::std::mdspan<double const, cuda::std::extents<Index, extents...>>;
template <class T, int ndim, class Layout>
using Dynamic = cuda::std::mdspan<T, cuda::std::dextents<std::int64_t, ndim>, Layout>;
constexpr std::size_t any = cuda::std::dynamic_extent;

/// Σ (k + 1) · element k, in C order
template <class View>
double weigh(View const& view) {
  double sum = 0;
  std::int64_t weight = 0;
  for_each_element(view, [&](auto const& element) { sum += static_cast<double>(++weight) * element; });
  return sum;
}

/// Functions whose names end in `suffix`.
template <class T, int ndim>
void add_orders(py::module_& module, std::string const& suffix) {
  auto const def = [&](std::string const& name, auto const& function) {
    module.def((name + suffix).c_str(), function);
  };
  def("order", [](ArrayView<T const, ndim, c_order>) { return "C"; });
  def("order", [](ArrayView<T const, ndim, f_order>) { return "F"; });
  def("order", [](ArrayView<T const, ndim>) { return "strided"; });
  def("weigh_c", [](ArrayView<T const, ndim, c_order> const& view) {
    return py::make_tuple(weigh(view), weigh(view.mdspan()), view.span().size());
  });
  def("weigh_f", [](ArrayView<T, ndim, f_order> const& view) {
    return py::make_tuple(weigh(view), weigh(view.mdspan()), view.span().size());
  });
  def("weigh", [](ArrayView<T const, ndim> view) { return weigh(view.mdspan()); });
  // What is dense, and may be written, is a view with strides to look at, too.
  def("widened", [](ArrayView<T, ndim, c_order> const& view) {
    ArrayView<T const, ndim> const wide = view;
    return weigh(wide);
  });
  def("mdspan_right", [](Dynamic<T const, ndim, cuda::std::layout_right> values) { return weigh(values); });
  def("mdspan_left", [](Dynamic<T, ndim, cuda::std::layout_left> values) { return weigh(values); });
  def("mdspan_strided", [](Dynamic<T const, ndim, cuda::std::layout_stride> values) { return weigh(values); });
}

void add_spans(py::module_& module) {
  module.def("span_sum", [](std::span<double const> values) {
    double sum = 0;
    for (double const value : values) sum += value;
    return sum;
  });
  module.def("span_fill", [](std::span<float> values, float value) {
    for (float& element : values) element = value;
  });
  module.def("span_of_three",
             [](std::span<std::int32_t const, 3> values) { return values[0] + values[1] + values[2]; });
  module.def("mdspan_static", [](Right<int, any, 3> values) { return weigh(values); });
  module.def("mdspan_small", [](Right<signed char, any, any> values) { return weigh(values); });
}

void add_devices(py::module_& module) {
  module.def("place", [](ArrayView<double const, 1, on_device>) { return "device"; });
  module.def("place", [](ArrayView<double const, 1>) { return "host"; });
  // Work in the view's own stream, and in another.
  module.def("fill_on_device", [](ArrayView<double, 1, on_device> const& view, double value) {
    view.core().fill(&value);
    return view.stream();
  });
  module.def("fill_in_stream", [](ArrayView<double, 1, on_device> const& view, memarray::StreamHandle const& stream,
                                  double value) { view.in_stream(stream).core().fill(&value); });
  // Of another dtype and rank, in an order, too.
  using Cubes = ArrayView<std::int16_t, 3, c_order | on_device>;
  module.def("place_of_cubes", [](Cubes const&) { return "device"; });
  module.def("place_of_cubes", [](ArrayView<std::int16_t const, 3, f_order | on_device>) { return "device, F"; });
  module.def("place_of_cubes", [](ArrayView<std::int16_t const, 3, f_order>) { return "host, F"; });
  module.def("place_of_cubes", [](ArrayView<std::int16_t const, 3>) { return "host"; });
  module.def("fill_cubes", [](Cubes const& view, memarray::StreamHandle const& stream, std::int16_t value) {
    view.in_stream(stream).core().fill(&value);
  });
}

}  // namespace

void add_options(py::module_& module) {
  add_orders<double, 2>(module, "");
  add_orders<std::int16_t, 3>(module, "_of_cubes");
  add_spans(module);
  add_devices(module);
}

}  // namespace arguments
