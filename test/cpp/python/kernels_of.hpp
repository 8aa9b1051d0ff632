#pragma once

#include "kernels.hpp"

#include <memarray/kernel/for_each_index.hpp>
#include <memarray/kernel/reduce.hpp>
#include <memarray/kernel/scan.hpp>
#include <memarray/kernel/sort_by_key.hpp>
#include <memarray/kernel/sum.hpp>
#include <memarray/python/memarray.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace kernels {

namespace py = pybind11;
using memarray::BufferView;
using memarray::ConstBufferView;
using memarray::MemArray;

template <class T>
inline constexpr bool is_ordered = requires(T const& x) { x < x; };

template <class T>
[[nodiscard]] T from_bytes(std::string const& bytes) {
  if (bytes.size() != sizeof(T)) throw std::invalid_argument("an element of another dtype");
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}
template <class... T>
[[nodiscard]] py::bytes to_bytes(T const&... values) {
  std::string bytes;
  (bytes.append(reinterpret_cast<char const*>(&values), sizeof(T)), ...);
  return bytes;
}

template <int ndim>
[[nodiscard]] auto to_array(Indices const& list) {
  if (list.size() != ndim) throw std::invalid_argument("another rank");
  std::array<std::int64_t, ndim> array{};
  std::ranges::copy(list, array.begin());
  return array;
}

/// Calls `f` with a shape or a range.
template <int ndim, class F>
void over(Where const& where, F const& f) {
  if (where.begin)
    f(memarray::range(to_array<ndim>(*where.begin), to_array<ndim>(where.end)));
  else
    f(to_array<ndim>(where.end));
}

template <class T, int ndim>
[[nodiscard]] MemArray<T, ndim> array_of(py::handle object) {
  return py::cast<MemArray<T, ndim>>(object);
}

/// Calls `f` with a `MemArray`, or with a `BufferView` of other memory. E: T, const to read.
template <class E, int ndim, class F>
void with_memory(py::handle memory, F const& f) {
  using T = std::remove_const_t<E>;
  if (memarray::python::bridging::bridge().unwrap(memory.ptr())) return f(array_of<T, ndim>(memory));
  using View = std::conditional_t<std::is_const_v<E>, ConstBufferView, BufferView>;
  // The typed view holds the lease.
  if (memory.attr("__dlpack_device__")().attr("__getitem__")(0).template cast<int>() == kDLCPU) {
    auto const view = py::cast<memarray::ArrayView<E, ndim>>(memory);
    f(View(view.core()));
  } else {
    auto const view = py::cast<memarray::ArrayView<E, ndim, memarray::on_device>>(memory);
    f(View(view.core()));
  }
}

/// Calls `f` with an access of the memory by its name.
template <class T, int ndim, class F>
void with_access(std::string const& access, std::int64_t lock_id, MemArray<T, ndim> const& held, F const& f) {
  auto array = MemArray<T, ndim>::share(held.state_ptr());
  if (access == "update") return f(memarray::update(array, lock_id));
  if (access == "write") return f(memarray::write(array, lock_id));
  f(memarray::overwrite(array, lock_id));
}
template <class T, int ndim, class F>
void with_access(std::string const& access, std::int64_t, BufferView const& view, F const& f) {
  if (access == "update") return f(memarray::update<T, ndim>(view));
  if (access == "write") return f(memarray::write<T, ndim>(view));
  f(memarray::overwrite<T, ndim>(view));
}

template <class T, int ndim>
[[nodiscard]] auto read_access(MemArray<T, ndim> const& array, std::int64_t lock_id) {
  return memarray::read(array, lock_id);
}
template <class T, int ndim>
[[nodiscard]] auto read_access(ConstBufferView const& view, std::int64_t) {
  return memarray::read<T, ndim>(view);
}

/// Odd ranks have 32-bit indices, even ones 64-bit indices: half the code to compile.
template <int ndim>
using LaunchIndices = memarray::detail::IndexArray<std::conditional_t<ndim % 2 == 1, std::int32_t, std::int64_t>, ndim>;

template <class T, int ndim>
[[nodiscard]] T number_of(LaunchIndices<ndim> const& i) {
  std::int64_t number = 1;
  for (int d = 0; d < ndim; ++d) number += (2 * d + 1) * i[static_cast<std::size_t>(d)];
  if constexpr (requires { typename T::value_type; })
    return T(static_cast<typename T::value_type>(number));
  else
    return static_cast<T>(number);
}

template <class T, int ndim>
struct ChangeElement {
  bool sets;
  void operator()(LaunchIndices<ndim> const& i, T& element) const {
    T const number = number_of<T, ndim>(i);
    element = sets ? number : memarray::plus()(element, number);
  }
};
template <class T, int ndim>
struct ChangeByIndex {
  bool sets;
  template <class X>
    requires(!std::is_convertible_v<X, T>)
  void operator()(LaunchIndices<ndim> const& i, X const& x) const {
    ChangeElement<T, ndim>{sets}(i, x[i]);
  }
};

template <class T, int ndim>
void change(py::handle memory, std::string const& access, Where const& where) {
  // "update, by index" gives an indexer.
  bool const by_element = access == "update";
  std::string const name = access.substr(0, access.find(','));
  bool const sets = name == "overwrite";
  memarray::launch const on{.threads = where.threads, .grain = where.grain};
  with_memory<T, ndim>(memory, [&](auto const& held) {
    over<ndim>(where, [&](auto const& box) {
      with_access<T, ndim>(name, where.lock_id, held, [&](auto const& named) {
        if constexpr (std::remove_cvref_t<decltype(named)>::kind == memarray::detail::AccessMode::update) {
          if (by_element) return memarray::for_each_index(box, on, ChangeElement<T, ndim>{sets}, named);
        }
        memarray::for_each_index(box, on, ChangeByIndex<T, ndim>{sets}, named);
      });
    });
  });
}

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

template <class T, int ndim>
py::bytes transform_reduce(py::handle memory, std::string const& operation, std::string const& init,
                           Where const& where) {
  AnyOperation<T> any{};
  with_operation<T>(operation,
                    [&]<class Op>(Op) { any.call = [](T const& left, T const& right) { return Op()(left, right); }; });
  T result{};
  memarray::launch const on{.threads = where.threads, .grain = where.grain};
  with_memory<T const, ndim>(memory, [&](auto const& held) {
    over<ndim>(where, [&](auto const& box) {
      result = memarray::transform_reduce(
          box, on, from_bytes<T>(init), any, [](LaunchIndices<ndim> const& i, auto const& x) { return x[i]; },
          read_access<T, ndim>(held, where.lock_id));
    });
  });
  return to_bytes(result);
}

template <class T, int ndim>
py::bytes reduce(py::handle array, std::string const& operation, std::string const& init) {
  T result{};
  with_operation<T>(operation, [&](auto op) {
    result = memarray::reduce(array_of<T, ndim>(array), memarray::default_stream(), from_bytes<T>(init), op);
  });
  return to_bytes(result);
}

template <class T, int ndim>
py::bytes extremes(py::handle array, std::string const& name) {
  auto const held = array_of<T, ndim>(array);
  auto const& stream = memarray::default_stream();
  if (name == "min") return to_bytes(memarray::min(held, stream));
  if (name == "max") return to_bytes(memarray::max(held, stream));
  auto const [least, largest] = memarray::minmax(held, stream);
  return to_bytes(least, largest);
}

template <class T, int ndim>
Indices position(py::handle array, std::string const& name) {
  auto const held = array_of<T, ndim>(array);
  auto const& stream = memarray::default_stream();
  auto const found = name == "argmin" ? memarray::argmin(held, stream) : memarray::argmax(held, stream);
  return {found.begin(), found.end()};
}

template <class T, int ndim>
py::bytes dot(py::handle left, py::handle right) {
  return to_bytes(memarray::dot(array_of<T, ndim>(left), array_of<T, ndim>(right), memarray::default_stream()));
}

template <class T, int ndim>
py::bytes sum(py::handle array) {
  return to_bytes(memarray::sum(array_of<T, ndim>(array), memarray::default_stream()));
}

template <class T, int ndim>
std::optional<py::bytes> scan(py::handle array, py::handle result, std::string const& operation,
                              std::optional<std::string> const& init) {
  auto const source = array_of<T, ndim>(array);
  auto target = array_of<T, ndim>(result);
  auto const& stream = memarray::default_stream();
  std::optional<py::bytes> total;
  with_operation<T>(operation, [&]<class Op>(Op op) {
    if constexpr (!std::is_same_v<Op, memarray::logical_and> && !std::is_same_v<Op, memarray::logical_or>) {
      if (init)
        total = to_bytes(memarray::exclusive_scan(source, target, stream, from_bytes<T>(*init), op));
      else
        memarray::inclusive_scan(source, target, stream, op);
    }
  });
  return total;
}

template <class T, int ndim>
void sort_by_key(py::handle keys, py::handle values) {
  auto sorted = array_of<T, 1>(keys);
  auto with = array_of<T, ndim>(values);
  memarray::sort_by_key(sorted, with, memarray::default_stream());
}

template <class T, int ndim>
[[nodiscard]] constexpr Kernels make_kernels() {
  Kernels all{&change<T, ndim>, &transform_reduce<T, ndim>,
              &reduce<T, ndim>, nullptr,
              nullptr,          &dot<T, ndim>,
              &sum<T, ndim>,    &scan<T, ndim>,
              nullptr};
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
