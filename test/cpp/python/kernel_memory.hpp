#pragma once

// The memory, indices and places of the kernels in kernels_of.hpp.

#include "kernels.hpp"

#include <memarray/array/access.hpp>
#include <memarray/kernel/launch.hpp>
#include <memarray/kernel/range.hpp>
#include <memarray/python/memarray.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

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

[[nodiscard]] inline memarray::launch on(Where const& where) {
  return {.stream = where.stream, .threads = where.threads, .grain = where.grain};
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

}  // namespace kernels
