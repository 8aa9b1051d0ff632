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
using Left = cuda::std::mdspan<double, cuda::std::dextents<std::int64_t, 2>, cuda::std::layout_left>;
using Strided = cuda::std::mdspan<double const, cuda::std::dextents<std::int64_t, 2>, cuda::std::layout_stride>;
constexpr std::size_t any = cuda::std::dynamic_extent;

/// Σ (i + 1) · 10^j · element
template <class View>
double weigh(View const& view) {
  double sum = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(view.extent(0)); ++i)
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(view.extent(1)); ++j) {
      double weight = static_cast<double>(i + 1);
      for (std::int64_t k = 0; k < j; ++k) weight *= 10;
      sum += weight * view(i, j);
    }
  return sum;
}

void add_orders(py::module_& module) {
  module.def("order", [](ArrayView<double const, 2, c_order>) { return "C"; });
  module.def("order", [](ArrayView<double const, 2, f_order>) { return "F"; });
  module.def("order", [](ArrayView<double const, 2>) { return "strided"; });
  module.def("weigh_c", [](ArrayView<double const, 2, c_order> const& view) {
    return py::make_tuple(weigh(view), weigh(view.mdspan()), view.span().size());
  });
  module.def("weigh_f", [](ArrayView<double, 2, f_order> const& view) {
    return py::make_tuple(weigh(view), weigh(view.mdspan()), view.span().size());
  });
  module.def("weigh", [](ArrayView<double const, 2> view) { return weigh(view.mdspan()); });
  // What is dense, and may be written, is a view with strides to look at, too.
  module.def("widened", [](ArrayView<double, 2, c_order> const& view) {
    ArrayView<double const, 2> const wide = view;
    return weigh(wide);
  });
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
  module.def("mdspan_right", [](Right<std::int64_t, any, any> values) { return weigh(values); });
  module.def("mdspan_left", [](Left values) { return weigh(values); });
  module.def("mdspan_strided", [](Strided values) { return weigh(values); });
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
}

}  // namespace

void add_options(py::module_& module) {
  add_orders(module);
  add_spans(module);
  add_devices(module);
}

}  // namespace arguments
