#pragma once

// Casters for spans, pointers and references in containers of <pybind11/stl.h>, whose casters destroy those of elements
// before the function runs. The call keeps memory and leases; outside a call they throw `pybind11::cast_error`.

#include <memarray/base/dtype.hpp>
#include <memarray/detail/python/arguments.hpp>

#include <pybind11/pybind11.h>
#include <cuda/std/mdspan>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace memarray::python::bridging {

/// True if a value refers to its caster, or to memory that only its caster keeps.
template <class Value>
inline constexpr bool refers_to_caster = false;
template <class T, std::size_t extent>
inline constexpr bool refers_to_caster<std::span<T, extent>> = Element<T>;
template <class T, class Extents, class Layout>
inline constexpr bool refers_to_caster<cuda::std::mdspan<T, Extents, Layout>> = Element<T>;
template <class T>
inline constexpr bool refers_to_caster<T*> = HasArgument<T>;
template <class T>
inline constexpr bool refers_to_caster<std::reference_wrapper<T>> = HasArgument<T>;
template <class First, class Second>
inline constexpr bool refers_to_caster<std::pair<First, Second>> = refers_to_caster<First> || refers_to_caster<Second>;
template <class... Values>
inline constexpr bool refers_to_caster<std::tuple<Values...>> = (refers_to_caster<Values> || ...);

/// An element whose caster the call keeps.
template <class Value>
struct Kept {
  Kept() = default;
  Kept(Value given) : value(std::move(given)) {}
  operator Value() const { return value; }

  Value value;
};

template <class Value>
using KeptIfNeeded = std::conditional_t<refers_to_caster<Value>, Kept<Value>, Value>;

}  // namespace memarray::python::bridging

namespace pybind11::detail {

// Defined by <pybind11/stl.h>, which a module need not include.
template <typename Type, typename Value>
struct list_caster;
template <typename Type, typename Key>
struct set_caster;
template <typename Type, typename Key, typename Value>
struct map_caster;
template <typename ArrayType, typename Value, bool Resizable, std::size_t Size>
struct array_caster;
template <typename Type, typename Value>
struct optional_caster;
template <typename Variant>
struct variant_caster;
template <template <typename...> class Variant>
struct visit_helper;

template <class Value>
class type_caster<memarray::python::bridging::Kept<Value>> {
  using Kept = memarray::python::bridging::Kept<Value>;

 public:
  static constexpr auto name = make_caster<Value>::name;
  template <class>
  using cast_op_type = Kept;

  bool load(handle source, bool convert) {
    auto loaded = std::make_unique<make_caster<Value>>();
    if (!loaded->load(source, convert)) return false;
    capsule const owner(loaded.get(), [](void* caster) { delete static_cast<make_caster<Value>*>(caster); });
    _caster = loaded.release();
    loader_life_support::add_patient(owner);
    return true;
  }
  operator Kept() { return cast_op<Value>(std::move(*_caster)); }
  template <class Given>
  static handle cast(Given&& given, return_value_policy policy, handle parent) {
    return make_caster<Value>::cast(std::forward<Given>(given), policy, parent);
  }

 private:
  make_caster<Value>* _caster = nullptr;
};

template <class Type, class Value>
  requires memarray::python::bridging::refers_to_caster<Value>
struct list_caster<Type, Value> : list_caster<Type, memarray::python::bridging::Kept<Value>> {};

template <class Type, class Key>
  requires memarray::python::bridging::refers_to_caster<Key>
struct set_caster<Type, Key> : set_caster<Type, memarray::python::bridging::Kept<Key>> {};

template <class Type, class Key, class Value>
  requires(memarray::python::bridging::refers_to_caster<Key> || memarray::python::bridging::refers_to_caster<Value>)
struct map_caster<Type, Key, Value>
    : map_caster<Type, memarray::python::bridging::KeptIfNeeded<Key>, memarray::python::bridging::KeptIfNeeded<Value>> {
};

template <class Array, class Value, bool is_resizable, std::size_t size>
  requires memarray::python::bridging::refers_to_caster<Value>
struct array_caster<Array, Value, is_resizable, size>
    : array_caster<Array, memarray::python::bridging::Kept<Value>, is_resizable, size> {};

template <class Type, class Value>
  requires memarray::python::bridging::refers_to_caster<Value>
struct optional_caster<Type, Value> : optional_caster<Type, memarray::python::bridging::Kept<Value>> {};

template <template <class...> class Variant, class... Values>
  requires(memarray::python::bridging::refers_to_caster<Values> || ...)
struct variant_caster<Variant<Values...>> {
  using KeptVariant = Variant<memarray::python::bridging::KeptIfNeeded<Values>...>;

  bool load(handle source, bool convert) {
    variant_caster<KeptVariant> kept;
    if (!kept.load(source, convert)) return false;
    visit_helper<Variant>::call([this](auto const& held) { set(held); }, static_cast<KeptVariant&>(kept));
    return true;
  }

  template <class Given>
  static handle cast(Given&& given, return_value_policy policy, handle parent) {
    auto const cast_held = [policy, owner = parent.ptr()](auto&& held) {
      return make_caster<decltype(held)>::cast(std::forward<decltype(held)>(held), policy, owner);
    };
    return visit_helper<Variant>::call(cast_held, std::forward<Given>(given));
  }

  using Type = Variant<Values...>;
  PYBIND11_TYPE_CASTER(Type, variant_caster<KeptVariant>::name);

 private:
  template <class Value>
  void set(memarray::python::bridging::Kept<Value> const& held) {
    value = held.value;
  }
  template <class Value>
  void set(Value const& held) {
    value = held;
  }
};

}  // namespace pybind11::detail
