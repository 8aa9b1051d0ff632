// Functions that take memory of any library, for tests of the casters' refusals and normalisation.

#include <memarray/python/memarray.hpp>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <span>
#include <vector>

namespace taken {

struct Flagged {
  std::int32_t id;
  bool flags[2];
  bool is_last;
};

}  // namespace taken

MEMARRAY_FIELDS(taken::Flagged, id, flags, is_last);

namespace {

using memarray::ArrayView;
template <class T>
using Strided = cuda::std::mdspan<T, cuda::std::dextents<std::int64_t, 2>, cuda::std::layout_stride>;

/// Counts the true elements, each converted from bool to a number.
template <class View>
std::int64_t count(View const& view, std::int64_t rows, std::int64_t columns) {
  std::int64_t trues = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) trues += static_cast<int>(view(i, j));
  return trues;
}

}  // namespace

PYBIND11_MODULE(memory_arguments, module) {
  module.def("count", [](ArrayView<bool const, 2> const& view) { return count(view, view.extent(0), view.extent(1)); });
  module.def("count_c", [](ArrayView<bool const, 2, memarray::c_order> const& view) {
    return count(view, view.extent(0), view.extent(1));
  });
  module.def("count_f", [](ArrayView<bool const, 2, memarray::f_order> const& view) {
    return count(view, view.extent(0), view.extent(1));
  });
  module.def("count_in_mdspan", [](Strided<bool const> const& span) {
    return count([&](std::int64_t i, std::int64_t j) { return span(i, j); }, span.extent(0), span.extent(1));
  });
  module.def("count_in_span", [](std::span<bool const> span) {
    return count([&](std::int64_t, std::int64_t j) { return span[static_cast<std::size_t>(j)]; }, 1,
                 static_cast<std::int64_t>(span.size()));
  });
  module.def("count_in_list", [](std::vector<ArrayView<bool const, 2>> const& views) {
    std::int64_t trues = 0;
    for (auto const& view : views) trues += count(view, view.extent(0), view.extent(1));
    return trues;
  });
  module.def("flip", [](ArrayView<bool, 2> const& view) {
    for (std::int64_t i = 0; i < view.extent(0); ++i)
      for (std::int64_t j = 0; j < view.extent(1); ++j) view(i, j) = !view(i, j);
  });
  module.def("count_flags", [](ArrayView<taken::Flagged const, 1> const& view) {
    std::int64_t trues = 0;
    for (std::int64_t i = 0; i < view.extent(0); ++i)
      trues +=
          static_cast<int>(view(i).flags[0]) + static_cast<int>(view(i).flags[1]) + static_cast<int>(view(i).is_last);
    return trues;
  });
  module.def("clear_flags", [](ArrayView<taken::Flagged, 1> const& view) {
    for (std::int64_t i = 0; i < view.extent(0); ++i) view(i).is_last = false;
  });

  module.def("take_view", [](ArrayView<double const, 1> const& view) { return view.size(); });
  module.def("take_writable", [](ArrayView<double, 1> const& view) { return view.size(); });
  module.def("take_span", [](std::span<double const> span) { return span.size(); });
  module.def("take_list", [](std::vector<ArrayView<double const, 1>> const& views) { return views.size(); });
  module.def("choose", [](ArrayView<double const, 1> const&) { return "double"; });
  module.def("choose", [](ArrayView<float const, 1> const&) { return "float"; });
  module.def("choose", [](pybind11::object const&) { return "object"; });
  module.def("is_contiguous", [](pybind11::buffer const& buffer, char order) {
    return PyBuffer_IsContiguous(buffer.request().view(), order) != 0;
  });
}
