// The casters, by pybind11 or by nanobind: memarray's headers, not those of the binding tools, are compiled strictly.
#if defined(NANOBIND)
#include <memarray/python/nanobind.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>
#define MODULE NB_MODULE
#else
#include <memarray/python/memarray.hpp>

#include <pybind11/stl.h>
#define MODULE PYBIND11_MODULE
#endif

#include <memarray/memarray.hpp>

#include <cuda/std/mdspan>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace {

template <class T, int ndim>
using View = memarray::ArrayView<T, ndim>;
using Grid = cuda::std::mdspan<float, cuda::std::dextents<int, 2>, cuda::std::layout_stride>;

}  // namespace

MODULE(NAME, module) {
  memarray::bind_mem_array<double, 7>(module);
  module.def("array", [](memarray::MemArray<double, 2>& array) { return array.size(); });
  module.def("made", [] { return memarray::MemArray<float, 1>({3}); });
  module.def("view", [](View<float const, 3> const& view) { return view.size(); });
  module.def("views", [](std::vector<View<std::int16_t, 1>> const& views) { return views.size(); });
  module.def("maybe", [](std::optional<View<bool const, 1>> const& view) { return view.has_value(); });
  module.def("span", [](std::span<std::uint8_t> bytes) { return bytes.size(); });
  module.def("grid", [](Grid grid) { return grid.extent(0); });
  module.def("stream", [](memarray::StreamHandle const& stream) { return memarray::as_intptr(stream); });
}
