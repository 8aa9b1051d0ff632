#include "parts.hpp"

#include <cuda/std/mdspan>

#include <span>
#include <string>
#include <vector>

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
  // A dense, writable view converts to a read-only one with any strides.
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

/// Returns the bytes of the bools, as C++ finds them in memory.
template <class View>
py::bytes stored(View const& view) {
  std::string bytes;
  for_each_element(view, [&](bool const& element) { bytes.append(reinterpret_cast<char const*>(&element), 1); });
  return py::bytes(bytes.data(), bytes.size());
}

void add_bools(py::module_& module) {
  using Bools = ArrayView<bool const, 1>;
  using Span = std::span<bool const>;
  module.def("stored_in_view", [](Bools const& view) { return stored(view); });
  module.def("stored_in_dense", [](ArrayView<bool const, 1, c_order> view) { return stored(view); });
  module.def("stored_in_span",
             [](Span span) { return py::bytes(reinterpret_cast<char const*>(span.data()), span.size()); });
  module.def("stored_in_mdspan", [](Dynamic<bool const, 1, cuda::std::layout_stride> span) { return stored(span); });
  module.def("stored_in_views", [](std::vector<Bools> const& views) { return stored(views.at(1)); });
  module.def("stored_in_spans", [](std::vector<Span> const& spans) {
    return py::bytes(reinterpret_cast<char const*>(spans.at(1).data()), spans.at(1).size());
  });
  module.def("flip",
             [](ArrayView<bool, 1> const& view) { for_each_element(view, [](bool& element) { element = !element; }); });
  module.def("flip_span", [](std::span<bool> span) {
    for (bool& element : span) element = !element;
  });
  module.def("flip_mdspan", [](Dynamic<bool, 1, cuda::std::layout_stride> span) {
    for_each_element(span, [](bool& element) { element = !element; });
  });
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
  // Overloads of another dtype and rank, and with an order.
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
  add_bools(module);
  add_devices(module);
}

}  // namespace arguments
