#include "tracers.hpp"

#include "tracer_module.hpp"

#include <cuda/std/mdspan>

#include <span>

namespace tracers {

namespace {

struct Drift {
  double dx;

  template <class Indices>
  MEMARRAY_HD void operator()(double& element, Indices const& at) const {
    element += at[1] == 0 ? dx : 0.0;
  }
};

}  // namespace

void Cloud::drift(double dx) { memarray::for_each_index(_field, memarray::default_stream(), Drift{dx}); }

void bind_views(py::module_& module) {
  using Strided = cuda::std::mdspan<double const, cuda::std::dextents<int, 2>, cuda::std::layout_stride>;
  using OnDevice = memarray::ArrayView<double, 2, memarray::c_order | memarray::on_device>;
  module.def("corner", [](Strided values) { return values(values.extent(0) - 1, values.extent(1) - 1); });
  module.def("set_all", [](OnDevice const& view, double value, memarray::StreamHandle const& stream) {
    view.in_stream(stream).core().fill(&value);
  });
  module.def("set_all", [](std::span<double> values, double value, memarray::StreamHandle const&) {
    for (double& element : values) element = value;
  });
}

}  // namespace tracers
