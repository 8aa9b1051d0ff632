#pragma once

#include "kernel_changes.hpp"
#include "kernel_memory.hpp"

#include <memarray/kernel/reduce.hpp>
#include <memarray/kernel/scan.hpp>
#include <memarray/kernel/sort_by_key.hpp>
#include <memarray/kernel/sum.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace kernels {

/// Calls `f` with each operation that T has, if it has the name.
template <class T, class F>
void with_operation(std::string const& name, F const& f) {
  if (name == "plus") return f(memarray::plus());
  if constexpr (is_ordered<T>) {
    if (name == "minimum") return f(memarray::minimum());
    if (name == "maximum") return f(memarray::maximum());
    if (name == "logical_and") return f(memarray::logical_and());
    if (name == "logical_or") return f(memarray::logical_or());
  }
  throw py::type_error("this dtype has no " + name);
}

/// An operation chosen at run time: one kernel for all.
template <class T>
struct AnyOperation {
  T (*call)(T const& left, T const& right);
  T operator()(T const& left, T const& right) const { return call(left, right); }
};
template <class T>
[[nodiscard]] AnyOperation<T> any_operation(std::string const& name) {
  AnyOperation<T> any{};
  with_operation<T>(name,
                    [&]<class Op>(Op) { any.call = [](T const& left, T const& right) { return Op()(left, right); }; });
  return any;
}

template <class T, int ndim>
struct ReadElement {
  template <class X>
  [[nodiscard]] T operator()(LaunchIndices<ndim> const& i, X const& x) const {
    return x[i];
  }
};

template <class T, int ndim>
py::bytes transform_reduce(py::handle memory, std::string const& operation, std::string const& init,
                           Where const& where) {
  T result{};
  with_memory<T const, ndim>(memory, [&](auto const& held) {
    over<ndim>(where, [&](auto const& box) {
      result = memarray::transform_reduce(box, on(where), from_bytes<T>(init), any_operation<T>(operation),
                                          ReadElement<T, ndim>(), read_access<T, ndim>(held, where.lock_id));
    });
  });
  return to_bytes(result);
}

template <class T, int ndim>
void transform_reduce_into(py::handle result, py::handle memory, std::string const& operation, std::string const& init,
                           Where const& where) {
  auto into = array_of<T, 1>(result);
  with_memory<T const, ndim>(memory, [&](auto const& held) {
    over<ndim>(where, [&](auto const& box) {
      memarray::transform_reduce_into(into, box, on(where), from_bytes<T>(init), any_operation<T>(operation),
                                      ReadElement<T, ndim>(), read_access<T, ndim>(held, where.lock_id));
    });
  });
}

/// Counts elements that are not zero: a value of another type.
template <class T, int ndim>
std::int64_t count(py::handle array, Where const& where) {
  auto const held = array_of<T, ndim>(array);
  std::int64_t found = 0;
  over<ndim>(where, [&](auto const& box) {
    found = memarray::transform_reduce(
        box, on(where), std::int64_t{}, memarray::plus(),
        [](LaunchIndices<ndim> const& i, auto const& x) { return std::int64_t{!(x[i] == T())}; },
        memarray::read(held, where.lock_id));
  });
  return found;
}

template <class T, int ndim>
py::bytes reduce(py::handle array, std::string const& operation, std::string const& init, StreamHandle const& stream) {
  T result{};
  with_operation<T>(operation, [&](auto op) {
    result = memarray::reduce(array_of<T, ndim>(array), stream, from_bytes<T>(init), op);
  });
  return to_bytes(result);
}
/// T's 64-bit type, of sums.
template <class T>
using Wide = typename memarray::detail::SumOf<T>::type;
template <class T, int ndim>
py::bytes reduce_wide(py::handle array, std::string const& init, StreamHandle const& stream) {
  return to_bytes(memarray::reduce(array_of<T, ndim>(array), stream, from_bytes<Wide<T>>(init), memarray::plus()));
}

template <class T, int ndim>
py::bytes extremes(py::handle array, std::string const& name, StreamHandle const& stream) {
  auto const held = array_of<T, ndim>(array);
  if (name == "min") return to_bytes(memarray::min(held, stream));
  if (name == "max") return to_bytes(memarray::max(held, stream));
  auto const [least, largest] = memarray::minmax(held, stream);
  return to_bytes(least, largest);
}

template <class T, int ndim>
Indices position(py::handle array, std::string const& name, StreamHandle const& stream) {
  auto const held = array_of<T, ndim>(array);
  auto const found = name == "argmin" ? memarray::argmin(held, stream) : memarray::argmax(held, stream);
  return {found.begin(), found.end()};
}

template <class T, int ndim>
py::bytes dot(py::handle left, py::handle right, StreamHandle const& stream) {
  return to_bytes(memarray::dot(array_of<T, ndim>(left), array_of<T, ndim>(right), stream));
}

template <class T, int ndim>
py::bytes sum(py::handle array, StreamHandle const& stream) {
  return to_bytes(memarray::sum(array_of<T, ndim>(array), stream));
}

template <class T, class R, int ndim, class Op>
std::optional<py::bytes> scan_with(py::handle array, py::handle result, std::optional<std::string> const& init,
                                   StreamHandle const& stream, Op op) {
  auto const source = array_of<T, ndim>(array);
  auto target = array_of<R, ndim>(result);
  if (init) return to_bytes(memarray::exclusive_scan(source, target, stream, from_bytes<R>(*init), op));
  memarray::inclusive_scan(source, target, stream, op);
  return {};
}
template <class T, int ndim>
std::optional<py::bytes> scan(py::handle array, py::handle result, std::string const& operation,
                              std::optional<std::string> const& init, StreamHandle const& stream) {
  if (operation == "plus") return scan_with<T, T, ndim>(array, result, init, stream, memarray::plus());
  return scan_with<T, T, ndim>(array, result, init, stream, any_operation<T>(operation));
}
template <class T, int ndim>
std::optional<py::bytes> scan_wide(py::handle array, py::handle result, std::optional<std::string> const& init,
                                   StreamHandle const& stream) {
  return scan_with<T, Wide<T>, ndim>(array, result, init, stream, memarray::plus());
}

template <class T, int ndim>
void sort_by_key(py::handle keys, py::handle values, StreamHandle const& stream) {
  auto sorted = array_of<T, 1>(keys);
  auto with = array_of<T, ndim>(values);
  memarray::sort_by_key(sorted, with, stream);
}

template <class T, int ndim>
[[nodiscard]] constexpr Kernels make_kernels() {
  Kernels all{};
  all.change = &change<T, ndim>;
  all.hold = &hold<T, ndim>;
  all.bundle = &bundle<T, ndim>;
  all.transform_reduce = &transform_reduce<T, ndim>;
  all.transform_reduce_into = &transform_reduce_into<T, ndim>;
  all.count = &count<T, ndim>;
  all.reduce = &reduce<T, ndim>;
  all.reduce_wide = &reduce_wide<T, ndim>;
  all.dot = &dot<T, ndim>;
  all.sum = &sum<T, ndim>;
  all.scan = &scan<T, ndim>;
  all.scan_wide = &scan_wide<T, ndim>;
  if constexpr (ndim > 1) all.overwrite_rows = &overwrite_rows<T, ndim>;
  if constexpr (is_ordered<T>) {
    all.extremes = &extremes<T, ndim>;
    all.position = &position<T, ndim>;
    all.sort_by_key = &sort_by_key<T, ndim>;
  }
  return all;
}

template <class T>
Kernels const& kernels_of(int ndim) {
  static constexpr Kernels all[] = {make_kernels<T, 1>(), make_kernels<T, 2>(), make_kernels<T, 3>(),
                                    make_kernels<T, 4>()};
  if (ndim < 1 || ndim > 4) throw std::invalid_argument("ranks are 1 to 4");
  return all[ndim - 1];
}

}  // namespace kernels
