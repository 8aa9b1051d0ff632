#include "parts.hpp"

#include <cuda/std/mdspan>

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace arguments {
namespace {

/// (dtype, address of the first element, extents, strides, the elements' bytes in C order)
template <class T, int ndim>
py::tuple look(memarray::ArrayView<T const, ndim> const& view) {
  std::string bytes;
  for_each_element(view, [&](T const& element) { bytes.append(reinterpret_cast<char const*>(&element), sizeof(T)); });
  return py::make_tuple(std::string(memarray::dtype_of<T>().name_view()), reinterpret_cast<std::uintptr_t>(view.data()),
                        to_tuple(ndim, [&](int d) { return view.extent(d); }),
                        to_tuple(ndim, [&](int d) { return view.stride(d); }), py::bytes(bytes.data(), bytes.size()));
}

/// Sets every element to the last one; returns how many there are.
template <class T, int ndim>
std::int64_t spread(memarray::ArrayView<T, ndim> const& view) {
  T last{};
  for_each_element(view, [&](T& element) { last = element; });
  for_each_element(view, [&](T& element) { element = last; });
  return view.size();
}

template <class T, int ndim>
using Strided = cuda::std::mdspan<T, cuda::std::dextents<std::int64_t, ndim>, cuda::std::layout_stride>;

/// As `look` and `spread`: what both kinds of span see of the same memory.
template <class T, int ndim>
py::tuple look_at_mdspan(Strided<T const, ndim> const& span) {
  std::string bytes;
  for_each_element(span, [&](T const& element) { bytes.append(reinterpret_cast<char const*>(&element), sizeof(T)); });
  return py::make_tuple(std::string(memarray::dtype_of<T>().name_view()),
                        reinterpret_cast<std::uintptr_t>(span.data_handle()),
                        to_tuple(ndim, [&](int d) { return span.extent(d); }),
                        to_tuple(ndim, [&](int d) { return span.stride(d); }), py::bytes(bytes.data(), bytes.size()));
}

template <class T>
std::int64_t spread_in_span(std::span<T> span) {
  for (T& element : span) element = span.back();
  return static_cast<std::int64_t>(span.size());
}

/// What a function of one dtype and rank would do, without a function for each.
struct Instance {
  std::string dtype;
  int ndim;
  py::tuple (*look)(py::handle);
  std::int64_t (*spread)(py::handle);
  py::tuple (*look_at_mdspan)(py::handle);
  std::int64_t (*spread_in_span)(py::handle);
};

template <class T, int ndim>
Instance instance() {
  return {std::string(memarray::dtype_of<T>().name_view()),
          ndim,
          [](py::handle object) { return look(py::cast<memarray::ArrayView<T const, ndim>>(object)); },
          [](py::handle object) { return spread(py::cast<memarray::ArrayView<T, ndim>>(object)); },
          [](py::handle object) { return look_at_mdspan<T, ndim>(py::cast<Strided<T const, ndim>>(object)); },
          [](py::handle object) { return spread_in_span<T>(py::cast<std::span<T>>(object)); }};
}

#define INSTANCES_OF_RANKS(type, name, code, bits)                                                         \
  instance<type, 0>(), instance<type, 1>(), instance<type, 2>(), instance<type, 3>(), instance<type, 4>(), \
      instance<type, 5>(), instance<type, 6>(),

Instance const& instance_of(std::string const& dtype, int ndim) {
  static std::array const instances{MEMARRAY_FOR_EACH_DTYPE(INSTANCES_OF_RANKS)};
  for (Instance const& instance : instances)
    if (instance.dtype == dtype && instance.ndim == ndim) return instance;
  throw py::key_error(dtype.c_str());
}

}  // namespace

void add_sweep(py::module_& module) {
  module.def("look", [](py::object const& object, std::string const& dtype, int ndim) {
    return instance_of(dtype, ndim).look(object);
  });
  module.def("spread", [](py::object const& object, std::string const& dtype, int ndim) {
    return instance_of(dtype, ndim).spread(object);
  });
  module.def("look_at_mdspan", [](py::object const& object, std::string const& dtype, int ndim) {
    return instance_of(dtype, ndim).look_at_mdspan(object);
  });
  module.def("spread_in_span", [](py::object const& object, std::string const& dtype) {
    return instance_of(dtype, 1).spread_in_span(object);
  });
  module.def("overloaded", &look<double, 0>);
  module.def("overloaded", &look<double, 1>);
  module.def("overloaded", &look<double, 2>);
  module.def("overloaded", &look<float, 1>);
  module.def("overloaded", &look<std::int64_t, 1>);
  module.def("overloaded", [](memarray::MemArray<float, 2> const&) { return "array"; });
  module.def("overloaded", &look<float, 2>);
}

}  // namespace arguments
