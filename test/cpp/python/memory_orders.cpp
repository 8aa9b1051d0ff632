// Functions that take memory in each order, in every dtype and in ranks 1 to 4. Each returns the address, and a view
// with the dimensions reversed.

#include <memarray/python/memarray.hpp>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace {

using memarray::ArrayView;
using memarray::ViewOptions;

template <class T, int ndim, ViewOptions options>
auto reverse(ArrayView<T, ndim, options> const& view) {
  return std::pair(reinterpret_cast<std::uintptr_t>(view.data()), view.transpose());
}

template <class T, int... ranks>
void define(pybind11::module_& module, std::integer_sequence<int, ranks...>) {
  (module.def("rows", &reverse<T, ranks + 1, memarray::c_order>), ...);
  (module.def("columns", &reverse<T, ranks + 1, memarray::f_order>), ...);
  (module.def("strided", &reverse<T, ranks + 1, ViewOptions::none>), ...);
}

/// Returns a column-major matrix of numbers in memory of its own, and the address.
auto make_columns(std::int64_t rows, std::int64_t columns) {
  auto const memory = std::make_shared<std::vector<double>>(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < memory->size(); ++i) (*memory)[i] = static_cast<double>(i);
  auto const view = memarray::BufferView::from_memory(memory->data(), {rows, columns}, memory, {8, 8 * rows});
  return std::pair(reinterpret_cast<std::uintptr_t>(memory->data()), view.as<double, 2, memarray::f_order>());
}

}  // namespace

PYBIND11_MODULE(memory_orders, module) {
  using Ranks = std::make_integer_sequence<int, 4>;
#define MEMARRAY_DEFINE(type, name, code, bits) define<type>(module, Ranks());
#if MEMARRAY_EVERY_ORDER
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_DEFINE)
#else
  MEMARRAY_DEFINE(double, float64, kDLFloat, 64)
#endif
#undef MEMARRAY_DEFINE
  module.def("make_columns", &make_columns);
  module.def("leading_dimension", [](ArrayView<double const, 2> const& view) { return view.leading_dimension(); });
}
