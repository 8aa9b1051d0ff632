#pragma once

#include <memarray/array/mem_array.hpp>
#include <memarray/detail/python/arguments.hpp>
#include <memarray/detail/python/module_bridge.hpp>

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <utility>

namespace pybind11::detail {

/// A caster that shares the state under any return value policy. A result by value hands it over.
template <class T, int ndim>
class type_caster<memarray::MemArray<T, ndim>>
    : public memarray::python::bridging::ArgumentCaster<memarray::MemArray<T, ndim>> {
  using Array = memarray::MemArray<T, ndim>;

 public:
  static handle cast(Array const& array, return_value_policy, handle) {
    return wrap(memarray::detail::ArrayStatePtr::share(&array.state()));
  }
  static handle cast(Array&& array, return_value_policy, handle) { return wrap(array.take_state()); }
  static handle cast(Array const* array, return_value_policy policy, handle parent) {
    if (!array) return none().release();
    handle const result = cast(*array, policy, parent);
    if (policy == return_value_policy::take_ownership) destroy(array);
    return result;
  }

 private:
  static handle wrap(memarray::detail::ArrayStatePtr state) {
    using namespace memarray::python;
    return bridging::checked(bridging::bridge().wrap(std::move(state))).release();
  }
  // If inlined, g++ warns of an unreached delete for a returned pointer to a member.
  [[gnu::noinline]] static void destroy(Array const* array) { delete array; }
};

/// Like the caster of `MemArray`; a null pointer is None.
template <class T, int ndim>
class type_caster<std::shared_ptr<memarray::MemArray<T, ndim>>>
    : public memarray::python::bridging::ArgumentCaster<std::shared_ptr<memarray::MemArray<T, ndim>>> {
  using Array = memarray::MemArray<T, ndim>;

 public:
  static handle cast(std::shared_ptr<Array> const& pointer, return_value_policy policy, handle parent) {
    return pointer ? type_caster<Array>::cast(*pointer, policy, parent) : none().release();
  }
};

/// A reference to this caster's argument.
template <memarray::python::HasArgument Parameter>
class type_caster<std::reference_wrapper<Parameter>>
    : memarray::python::bridging::ValidDuringCall<std::reference_wrapper<Parameter>> {
  using Caster = make_caster<Parameter>;

 public:
  static constexpr auto name = Caster::name;
  template <class>
  using cast_op_type = std::reference_wrapper<Parameter>;

  bool load(handle source, bool convert) { return _caster.load(source, convert); }
  operator std::reference_wrapper<Parameter>() { return cast_op<Parameter&>(std::move(_caster)); }
  static handle cast(std::reference_wrapper<Parameter> const& reference, return_value_policy policy, handle parent) {
    return Caster::cast(reference.get(), policy, parent);
  }

 private:
  Caster _caster;
};

}  // namespace pybind11::detail
