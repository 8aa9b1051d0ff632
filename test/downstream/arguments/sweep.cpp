#include "parts.hpp"

#include <cuda/std/mdspan>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace arguments {
namespace {

template <class T, int ndim>
using Strided = cuda::std::mdspan<T, cuda::std::dextents<std::int64_t, ndim>, cuda::std::layout_stride>;

/// (dtype, address of the first element, extents, strides, the elements' bytes in C order)
template <class View>
py::tuple look_through(View const& view, void const* data) {
  using T = typename View::value_type;
  constexpr int ndim = static_cast<int>(View::rank());
  std::string bytes;
  for_each_element(view, [&](T const& element) { bytes.append(reinterpret_cast<char const*>(&element), sizeof(T)); });
  return py::make_tuple(std::string(memarray::dtype_of<T>().name_view()), reinterpret_cast<std::uintptr_t>(data),
                        to_tuple(ndim, [&](int d) { return view.extent(d); }),
                        to_tuple(ndim, [&](int d) { return view.stride(d); }), py::bytes(bytes.data(), bytes.size()));
}

template <class T, int ndim>
py::tuple look(memarray::ArrayView<T const, ndim> const& view) {
  return look_through(view, view.data());
}
template <class T, int ndim>
py::tuple look_at_mdspan(Strided<T const, ndim> const& span) {
  return look_through(span, span.data_handle());
}
template <class T>
py::tuple look_at_span(std::span<T const> span) {
  cuda::std::mdspan const line(span.data(), cuda::std::dextents<std::int64_t, 1>(span.size()));
  return look_through(line, span.data());
}

/// Sets every element to the last one; returns how many there are.
template <class View>
std::int64_t spread(View const& view) {
  using T = typename View::value_type;
  T last{};
  for_each_element(view, [&](T& element) { last = element; });
  for_each_element(view, [&](T& element) { element = last; });
  return static_cast<std::int64_t>(view.size());
}
template <class T, int ndim>
std::int64_t spread_in_mdspan(Strided<T, ndim> view) {
  return spread(view);
}
template <class T>
std::int64_t spread_in_span(std::span<T> span) {
  for (T& element : span) element = span.back();
  return static_cast<std::int64_t>(span.size());
}

/// Like `spread`, under the id of the writer. Returns the array's contents from before.
template <class T, int ndim>
memarray::MemArray<T, ndim> spread_array(memarray::MemArray<T, ndim>& array) {
  std::int64_t const id = array.get_lock_id();
  memarray::MemArray<T, ndim> before(array.get_shape());
  std::copy_n(std::as_const(array).ptr(id), array.get_size(), before.ptr());
  array.fill(before.ptr()[array.get_size() - 1], id);
  return before;
}

/// From Python and back.
template <class T, int ndim>
py::object pass_pointer(py::handle object) {
  if constexpr (ndim == 0)
    return py::none();  // there is no such array
  else
    return py::cast(py::cast<std::shared_ptr<memarray::MemArray<T, ndim>>>(object));
}

/// Calls the function with a span or mdspan. No cast returns one: its memory would not be kept.
template <class Span, class Function>
auto with_span(py::handle object, Function function) {
  using namespace memarray::python;
#ifdef ARGUMENTS_NANOBIND
  Bridge const& bridge = bridging::nb::bridge();
  using PythonError = py::python_error;
#else
  Bridge const& bridge = bridging::bridge();
  using PythonError = py::error_already_set;
#endif
  Argument<Span> argument;
  Loaded const loaded = argument.load(bridge, object.ptr(), true);
  if (loaded == Loaded::failed) throw PythonError();
  if (loaded == Loaded::no) throw py::type_error("an object without memory");
  return function(argument.value());
}

/// Pointers to the functions of one dtype and rank, instead of bound functions for all.
struct Instance {
  std::string dtype;
  int ndim;
  py::tuple (*look)(py::handle);
  std::int64_t (*spread)(py::handle);
  py::tuple (*look_at_mdspan)(py::handle);
  std::int64_t (*spread_in_mdspan)(py::handle);
  py::tuple (*look_at_span)(py::handle);
  std::int64_t (*spread_in_span)(py::handle);
  py::object (*pass_pointer)(py::handle);
};

template <class T, int ndim>
Instance instance() {
  return {std::string(memarray::dtype_of<T>().name_view()),
          ndim,
          [](py::handle object) { return look(py::cast<memarray::ArrayView<T const, ndim>>(object)); },
          [](py::handle object) { return spread(py::cast<memarray::ArrayView<T, ndim>>(object)); },
          [](py::handle object) { return with_span<Strided<T const, ndim>>(object, &look_at_mdspan<T, ndim>); },
          [](py::handle object) { return with_span<Strided<T, ndim>>(object, &spread_in_mdspan<T, ndim>); },
          [](py::handle object) { return with_span<std::span<T const>>(object, &look_at_span<T>); },
          [](py::handle object) { return with_span<std::span<T>>(object, &spread_in_span<T>); },
          &pass_pointer<T, ndim>};
}

#define INSTANCES_OF_RANKS(type, name, code, bits)                                                         \
  instance<type, 0>(), instance<type, 1>(), instance<type, 2>(), instance<type, 3>(), instance<type, 4>(), \
      instance<type, 5>(), instance<type, 6>(),

/// A reference is a parameter alone: no cast returns one.
template <class T, int... ranks>
void add_arrays(py::module_& module, std::string const& dtype, std::integer_sequence<int, ranks...>) {
  (module.def(("spread_" + dtype + std::to_string(ranks + 1)).c_str(), &spread_array<T, ranks + 1>), ...);
}
#define ADD_ARRAYS_OF_RANKS(type, name, code, bits) \
  add_arrays<type>(module, #name "_", std::make_integer_sequence<int, 6>());

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
  module.def("spread_in_mdspan", [](py::object const& object, std::string const& dtype, int ndim) {
    return instance_of(dtype, ndim).spread_in_mdspan(object);
  });
  module.def("look_at_span", [](py::object const& object, std::string const& dtype) {
    return instance_of(dtype, 1).look_at_span(object);
  });
  module.def("spread_in_span", [](py::object const& object, std::string const& dtype) {
    return instance_of(dtype, 1).spread_in_span(object);
  });
  module.def(
      "pass_pointer",
      [](py::object const& object, std::string const& dtype, int ndim) {
        return instance_of(dtype, ndim).pass_pointer(object);
      },
      py::arg("object").none(), py::arg("dtype"), py::arg("ndim"));
  MEMARRAY_FOR_EACH_DTYPE(ADD_ARRAYS_OF_RANKS)
  module.def("overloaded", &look<double, 0>);
  module.def("overloaded", &look<double, 1>);
  module.def("overloaded", &look<double, 2>);
  module.def("overloaded", &look<float, 1>);
  module.def("overloaded", &look<std::int64_t, 1>);
  module.def("overloaded", [](memarray::MemArray<float, 2> const&) { return "array"; });
  module.def("overloaded", &look<float, 2>);
}

}  // namespace arguments
