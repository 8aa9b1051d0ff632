#pragma once

// MemArray<T, ndim> as argument and result, by value, reference, pointer and shared_ptr.

#include <memarray/array/mem_array.hpp>
#include <memarray/python/module_bridge.hpp>

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace memarray::python::bridging {

/// The state of an array of that dtype and rank, borrowed; null for anything else. `converts`: for another array a
/// `TypeError` in words.
inline detail::State* load_array(PyObject* object, DType const& dtype, int ndim, bool converts) {
  detail::State* const state = bridge().unwrap(object);
  if (!state || (state->dtype() == dtype && state->ndim() == ndim)) return state;
  if (!converts) return nullptr;
  throw pybind11::type_error("a MemArray<" + std::string(dtype.name_view()) + ", " + std::to_string(ndim) +
                             "> is needed, not " + state->describe());
}

}  // namespace memarray::python::bridging

namespace pybind11::detail {

/// Shows a C++ array to Python, and takes one from it, without a copy: both share its state, whatever the return value
/// policy. Returned by value, the state is handed over. An argument checks dtype and rank only; the function takes its
/// own leases. A parameter by value shares the state too.
template <class T, int ndim>
class type_caster<memarray::MemArray<T, ndim>> {
  using Array = memarray::MemArray<T, ndim>;

 public:
  static constexpr auto name = const_name("memarray.MemArray");

  bool load(handle source, bool convert) {
    auto* const state = memarray::python::bridging::load_array(source.ptr(), memarray::dtype_of<T>(), ndim, convert);
    if (state) _array = Array::share(memarray::detail::StatePtr::share(state));
    return state != nullptr;
  }

  static handle cast(Array const& array, return_value_policy, handle) { return wrap(array); }
  static handle cast(Array&& array, return_value_policy, handle) {
    Array const taken = std::move(array);
    return wrap(taken);
  }
  static handle cast(Array const* array, return_value_policy policy, handle parent) {
    if (!array) return none().release();
    handle const result = cast(*array, policy, parent);
    if (policy == return_value_policy::take_ownership) destroy(array);
    return result;
  }

  template <class To>
  using cast_op_type = movable_cast_op_type<To>;
  operator Array*() { return &*_array; }
  operator Array&() { return *_array; }
  operator Array&&() && { return std::move(*_array); }

 private:
  static handle wrap(Array const& array) {
    PyObject* const object = memarray::python::bridging::bridge().wrap(array.state());
    if (!object) throw error_already_set();
    return object;
  }
  // Never inline: where a pointer to a member is returned, g++ would warn of a delete that is not reached.
  [[gnu::noinline]] static void destroy(Array const* array) { delete array; }

  std::optional<Array> _array;
};

/// The same; null is None. The pointer is a new one for each call, its array shares the state.
template <class T, int ndim>
class type_caster<std::shared_ptr<memarray::MemArray<T, ndim>>> {
  using Array = memarray::MemArray<T, ndim>;
  using Pointer = std::shared_ptr<Array>;

 public:
  static constexpr auto name = type_caster<Array>::name;

  bool load(handle source, bool convert) {
    if (source.is_none()) return convert;
    auto* const state = memarray::python::bridging::load_array(source.ptr(), memarray::dtype_of<T>(), ndim, convert);
    if (state) _pointer = std::make_shared<Array>(Array::share(memarray::detail::StatePtr::share(state)));
    return state != nullptr;
  }
  static handle cast(Pointer const& pointer, return_value_policy policy, handle parent) {
    return pointer ? type_caster<Array>::cast(*pointer, policy, parent) : none().release();
  }

  template <class To>
  using cast_op_type = movable_cast_op_type<To>;
  operator Pointer*() { return &_pointer; }
  operator Pointer&() { return _pointer; }
  operator Pointer&&() && { return std::move(_pointer); }

 private:
  Pointer _pointer;
};

}  // namespace pybind11::detail
