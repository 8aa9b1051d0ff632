#include "parts.hpp"

#include <cuda/std/mdspan>

#include <array>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace arguments {
namespace {

using View = memarray::ArrayView<double const, 1>;
using Dense = memarray::ArrayView<double, 1, memarray::c_order>;
using Other = memarray::ArrayView<float const, 1>;
using Array = memarray::MemArray<double, 1>;
using Span = std::span<double const>;
using MdSpan = cuda::std::mdspan<double const, cuda::std::dextents<std::int64_t, 1>>;

double total(View const& view) { return sum(view); }
double total(Dense const& view) { return sum(view); }
double total(Other const& view) { return sum(view); }
double total(Array& array) { return memarray::sum(array, memarray::default_stream()); }
double total(std::shared_ptr<Array> const& array) { return total(*array); }
double total(Array* array) { return total(*array); }
double total(std::reference_wrapper<Array> array) { return total(array.get()); }
double total(Span span) {
  return sum(cuda::std::mdspan(span.data(), cuda::std::dextents<std::int64_t, 1>(span.size())));
}
double total(MdSpan span) { return sum(span); }
double total(memarray::StreamHandle const&) { return 0; }
double total(int number) { return number; }

template <class Elements>
double total_of(Elements& elements) {
  double result = 0;
  for (auto& element : elements) result += total(element);
  return result;
}

/// Each function takes one container and a callable, which it calls while it has the elements.
template <class T>
void add_of(py::module_& module, std::string const& of) {
  auto const def = [&](char const* container, auto const& function) {
    module.def((container + ("_of_" + of)).c_str(), function);
  };
  def("plain", [](T element, py::object const& call) { return call(), total(element); });
  def("vector", [](std::vector<T> elements, py::object const& call) { return call(), total_of(elements); });
  def("list", [](std::list<T> elements, py::object const& call) { return call(), total_of(elements); });
  if constexpr (std::is_default_constructible_v<T>)
    def("array", [](std::array<T, 2> elements, py::object const& call) { return call(), total_of(elements); });
  def("optional", [](std::optional<T> element, py::object const& call) { return call(), total(element.value()); });
  def("map", [](std::map<std::string, T> elements, py::object const& call) {
    call();
    double result = 0;
    for (auto& [key, element] : elements) result += total(element);
    return result;
  });
  def("unordered_map", [](std::unordered_map<std::string, T> elements, py::object const& call) {
    call();
    double result = 0;
    for (auto& [key, element] : elements) result += total(element);
    return result;
  });
#ifdef ARGUMENTS_NANOBIND
  constexpr bool has_variants = true;
#else
  constexpr bool has_variants = std::is_default_constructible_v<T>;  // pybind11's rule
#endif
  if constexpr (has_variants)
    def("variant", [](std::variant<T, int> element, py::object const& call) {
      call();
      return std::visit([](auto& held) { return total(held); }, element);
    });
  def("pair", [](std::pair<T, int> elements, py::object const& call) { return call(), total(elements.first); });
  def("tuple",
      [](std::tuple<int, T> elements, py::object const& call) { return call(), total(std::get<1>(elements)); });
  def("pairs", [](std::vector<std::pair<int, T>> elements, py::object const& call) {
    call();
    double result = 0;
    for (auto& [number, element] : elements) result += total(element);
    return result;
  });
  def("vectors", [](std::map<std::string, std::vector<std::optional<T>>> elements, py::object const& call) {
    call();
    double result = 0;
    for (auto& [key, inner] : elements)
      for (auto& element : inner) result += element ? total(*element) : 0;
    return result;
  });
}

}  // namespace

void add_containers(py::module_& module) {
  add_of<View>(module, "views");
  add_of<Dense>(module, "dense");
  add_of<Array>(module, "arrays");
  add_of<std::shared_ptr<Array>>(module, "pointers");
  add_of<Span>(module, "spans");
  add_of<MdSpan>(module, "mdspans");
  add_of<memarray::StreamHandle>(module, "streams");
  module.def("set_of_pointers", [](std::set<std::shared_ptr<Array>> const& arrays) { return arrays.size(); });
  module.def("floats_or_doubles",
             [](std::vector<Other> views) { return "float32 " + std::to_string(total_of(views)); });
  module.def("floats_or_doubles", [](std::vector<View> views) { return "float64 " + std::to_string(total_of(views)); });
  module.def("float_or_double", [](std::variant<Other, View> const& view) { return view.index(); });
  // The casts of C++, of one value and of a container.
  module.def("cast_view", [](py::object const& object) { return total(py::cast<View>(object)); });
  module.def("cast_views", [](py::object const& object) {
    auto views = py::cast<std::vector<View>>(object);
    return total_of(views);
  });
  module.def("cast_set",
             [](py::object const& object) { return py::cast<std::set<std::shared_ptr<Array>>>(object).size(); });
#ifndef ARGUMENTS_NANOBIND  // nanobind refuses to compile these
  add_of<Array*>(module, "addresses");
  add_of<std::reference_wrapper<Array>>(module, "references");
  module.def("set_of_addresses", [](std::set<Array*> const& arrays) { return total_of(arrays); });
  module.def("same_addresses", [](std::vector<Array*> arrays) { return arrays; });
  module.def("same_in_variant", [](std::variant<int, Array*> array) { return array; });
  module.def("keys_of_addresses", [](std::map<Array*, int> const& arrays) {
    double result = 0;
    for (auto const& [array, number] : arrays) result += total(array);
    return result;
  });
#else
  module.def("cast_span", [](py::object const& object) { return total(py::cast<Span>(object)); });
  module.def("cast_mdspan", [](py::object const& object) { return total(py::cast<MdSpan>(object)); });
  module.def("cast_spans", [](py::object const& object) {
    auto spans = py::cast<std::vector<Span>>(object);
    return total_of(spans);
  });
  module.def("try_cast_span", [](py::object const& object) {
    Span span;
    return py::try_cast(object, span);
  });
  module.def("try_cast_view", [](py::object const& object) {
    View view;
    return py::try_cast(object, view);
  });
#endif
}

}  // namespace arguments
