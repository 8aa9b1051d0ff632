#pragma once

// One source for a module of pybind11 and one of nanobind, where ARGUMENTS_NANOBIND is defined.

#ifdef ARGUMENTS_NANOBIND
#include <memarray/python/nanobind.hpp>

#include <nanobind/stl/array.h>
#include <nanobind/stl/list.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace py = nanobind;
#define ARGUMENTS_MODULE(name, module) NB_MODULE(name, module)
#define ARGUMENTS_LIBRARY "nanobind"
#define ARGUMENTS_LIBRARY_MAJOR NB_VERSION_MAJOR
#else
#include <memarray/python/memarray.hpp>

#include <pybind11/stl.h>

namespace py = pybind11;
#define ARGUMENTS_MODULE(name, module) PYBIND11_MODULE(name, module, pybind11::mod_gil_not_used())
#define ARGUMENTS_LIBRARY "pybind11"
#define ARGUMENTS_LIBRARY_MAJOR PYBIND11_VERSION_MAJOR
#endif

#include <cstdint>

namespace arguments {

/// `look` and `spread` for every dtype and rank, and overloads by them.
void add_sweep(py::module_& module);
/// Functions whose types state more than elements: order, place, extents.
void add_options(py::module_& module);
/// Containers of views, spans, arrays and streams.
void add_containers(py::module_& module);
/// Views that are kept, leases that are held.
void add_holds(py::module_& module);

/// A tuple of extents or strides.
template <class Count>
py::tuple to_tuple(int ndim, Count const& count) {
  py::list result;
  for (int d = 0; d < ndim; ++d) result.append(static_cast<std::int64_t>(count(d)));
  return py::tuple(result);
}

/// Calls `visit` with every element, in C order.
template <class View, class Visit, class... Indices>
void for_each_element(View const& view, Visit const& visit, Indices... indices) {
  if constexpr (sizeof...(Indices) == View::rank()) {
    visit(view(indices...));
  } else {
    for (std::int64_t i = 0; i < view.extent(sizeof...(Indices)); ++i) for_each_element(view, visit, indices..., i);
  }
}

template <class View>
double sum(View const& view) {
  double sum = 0;
  for_each_element(view, [&](double element) { sum += element; });
  return sum;
}

template <class T>
void scale(memarray::ArrayView<T, 1> const& view, double factor) {
  for_each_element(view, [&](T& element) { element = static_cast<T>(element * factor); });
}

}  // namespace arguments
