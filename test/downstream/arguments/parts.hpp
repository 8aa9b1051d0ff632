#pragma once

#include <memarray/python/memarray.hpp>

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string_view>

namespace arguments {

namespace py = pybind11;

/// `look` and `spread` for every dtype and rank, and overloads by them.
void add_sweep(py::module_& module);
/// What types say beside their elements: order, place, extents.
void add_options(py::module_& module);
/// Views that are kept, leases that are held.
void add_holds(py::module_& module);

/// A tuple of extents or strides.
template <class Count>
py::tuple to_tuple(int ndim, Count const& count) {
  py::tuple result(ndim);
  for (int d = 0; d < ndim; ++d) result[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(count(d));
  return result;
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

}  // namespace arguments
