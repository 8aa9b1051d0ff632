#pragma once

// Container casters that raise the refusal of an element. Modules still include <nanobind/stl/vector.h> and the like.

#include <memarray/python/nanobind.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace nanobind::detail {
template <typename List, typename Entry>
struct list_caster;
template <typename Array, typename Entry, std::size_t size>
struct array_caster;
template <typename Optional, typename T>
struct optional_caster;
template <typename Dict, typename Key, typename Value>
struct dict_caster;
}  // namespace nanobind::detail

namespace memarray::python::bridging::nb {

/// True for memarray's parameter types, and containers of them.
template <class T>
inline constexpr bool has_arguments = false;
template <class T, int ndim>
inline constexpr bool has_arguments<MemArray<T, ndim>> = true;
template <class T, int ndim>
inline constexpr bool has_arguments<std::shared_ptr<MemArray<T, ndim>>> = true;
template <class T, int ndim, ViewOptions options>
inline constexpr bool has_arguments<ArrayView<T, ndim, options>> = true;
template <class T, std::size_t extent>
inline constexpr bool has_arguments<std::span<T, extent>> = Element<T>;
template <class T, class Extents, class Layout>
inline constexpr bool has_arguments<cuda::std::mdspan<T, Extents, Layout>> = Element<T>;
template <>
inline constexpr bool has_arguments<StreamHandle> = true;
template <class T, class Allocator>
inline constexpr bool has_arguments<std::vector<T, Allocator>> = has_arguments<T>;
template <class T, class Allocator>
inline constexpr bool has_arguments<std::list<T, Allocator>> = has_arguments<T>;
template <class T, std::size_t size>
inline constexpr bool has_arguments<std::array<T, size>> = has_arguments<T>;
template <class T>
inline constexpr bool has_arguments<std::optional<T>> = has_arguments<T>;
template <class... T>
inline constexpr bool has_arguments<std::map<T...>> = (has_arguments<T> || ...);
template <class... T>
inline constexpr bool has_arguments<std::unordered_map<T...>> = (has_arguments<T> || ...);
template <class T, class U>
inline constexpr bool has_arguments<std::pair<T, U>> = has_arguments<T> || has_arguments<U>;
template <class... T>
inline constexpr bool has_arguments<std::tuple<T...>> = (has_arguments<T> || ...);
template <class... T>
inline constexpr bool has_arguments<std::variant<T...>> = (has_arguments<T> || ...);

/// A scope that collects an element's refusal.
class RefusalScope {
 public:
  RefusalScope() noexcept : _outer(std::exchange(container_refusal(), &_refusal)) {}
  ~RefusalScope() { container_refusal() = _outer; }
  RefusalScope(RefusalScope const&) = delete;
  RefusalScope& operator=(RefusalScope const&) = delete;

  [[nodiscard]] std::exception_ptr const& refusal() const noexcept { return _refusal; }

 private:
  std::exception_ptr _refusal;
  std::exception_ptr* _outer;
};

template <class Base>
class ContainerCaster : public Base {
 public:
  using typename Base::Value;

  template <class Flags>
  bool from_python(nanobind::handle source, Flags flags, nanobind::detail::cleanup_list* cleanup) noexcept {
    if ((flags & static_cast<Flags>(nanobind::detail::cast_flags::convert)) == 0)
      overload_search().begin(cleanup, source.ptr());
    RefusalScope const scope;
    if (Base::from_python(source, flags, cleanup)) return true;
    _refusal.set(scope.refusal());
    return scope.refusal() != nullptr;
  }
  template <class>
  bool can_cast() const noexcept {
    return _refusal.can_cast();
  }

  explicit operator Value*() { return &checked_value(); }
  explicit operator Value&() { return checked_value(); }
  explicit operator Value&&() { return std::move(checked_value()); }

 private:
  Value& checked_value() {
    _refusal.check();
    return static_cast<Base&>(*this).operator Value&();
  }

  Refusal _refusal;
};

/// A caster to the first alternative that fits. nanobind's own caster has no template to derive from.
template <class... Alternatives>
class VariantCaster {
  template <class T>
  using CasterOf = nanobind::detail::make_caster<T>;

 public:
  using Value = std::variant<Alternatives...>;
  static constexpr auto Name = nanobind::detail::union_name(CasterOf<Alternatives>::Name...);
  template <class To>
  using Cast = nanobind::detail::movable_cast_t<To>;
  template <class>
  static constexpr bool can_cast() {
    return true;
  }

  explicit operator Value*() { return &*_value; }
  explicit operator Value&() { return *_value; }
  explicit operator Value&&() { return std::move(*_value); }

  template <class Flags>
  bool from_python(nanobind::handle source, Flags flags, nanobind::detail::cleanup_list* cleanup) noexcept {
    auto const convert = static_cast<Flags>(nanobind::detail::cast_flags::convert);
    if ((flags & convert) == 0) return (take<Alternatives>(source, flags, cleanup) || ...);
    // These passes choose an alternative, not an overload.
    OverloadSearch const before = overload_search();
    bool const is_taken = (take<Alternatives>(source, static_cast<Flags>(flags & ~convert), cleanup) || ...) ||
                          (take<Alternatives>(source, flags, cleanup) || ...);
    overload_search() = before;
    return is_taken;
  }

  template <class From>
  static nanobind::handle from_cpp(From* value, nanobind::rv_policy policy, nanobind::detail::cleanup_list* cleanup) {
    return value ? from_cpp(*value, policy, cleanup) : nanobind::none().release();
  }
  template <class From>
  static nanobind::handle from_cpp(From&& value, nanobind::rv_policy policy,
                                   nanobind::detail::cleanup_list* cleanup) noexcept {
    return std::visit(
        [&](auto&& held) {
          return CasterOf<decltype(held)>::from_cpp(std::forward<decltype(held)>(held), policy, cleanup);
        },
        std::forward<From>(value));
  }

 private:
  template <class T, class Flags>
  bool take(nanobind::handle source, Flags flags, nanobind::detail::cleanup_list* cleanup) {
    CasterOf<T> caster;
    auto const local = static_cast<Flags>(nanobind::detail::flags_for_local_caster<T>(flags));
    if (!caster.from_python(source, local, cleanup) || !caster.template can_cast<T>()) return false;
    _value.emplace(caster.operator nanobind::detail::cast_t<T>());
    return true;
  }

  std::optional<Value> _value;
};

}  // namespace memarray::python::bridging::nb

namespace nanobind::detail {

template <class T, class Allocator>
  requires memarray::python::bridging::nb::has_arguments<T>
struct type_caster<std::vector<T, Allocator>>
    : memarray::python::bridging::nb::ContainerCaster<list_caster<std::vector<T, Allocator>, T>> {};

template <class T, class Allocator>
  requires memarray::python::bridging::nb::has_arguments<T>
struct type_caster<std::list<T, Allocator>>
    : memarray::python::bridging::nb::ContainerCaster<list_caster<std::list<T, Allocator>, T>> {};

template <class T, std::size_t size>
  requires memarray::python::bridging::nb::has_arguments<T>
struct type_caster<std::array<T, size>>
    : memarray::python::bridging::nb::ContainerCaster<array_caster<std::array<T, size>, T, size>> {};

template <class T>
  requires memarray::python::bridging::nb::has_arguments<T>
struct type_caster<std::optional<T>>
    : memarray::python::bridging::nb::ContainerCaster<optional_caster<std::optional<T>, T>> {};

template <class Key, class T, class Compare, class Allocator>
  requires memarray::python::bridging::nb::has_arguments<T>
struct type_caster<std::map<Key, T, Compare, Allocator>>
    : memarray::python::bridging::nb::ContainerCaster<dict_caster<std::map<Key, T, Compare, Allocator>, Key, T>> {};

// For the default allocator only, like nanobind's own.
template <class Key, class T, class Hash, class Equal>
  requires memarray::python::bridging::nb::has_arguments<T>
struct type_caster<std::unordered_map<Key, T, Hash, Equal>>
    : memarray::python::bridging::nb::ContainerCaster<dict_caster<std::unordered_map<Key, T, Hash, Equal>, Key, T>> {};

template <class... Alternatives>
  requires(memarray::python::bridging::nb::has_arguments<Alternatives> || ...)
struct type_caster<std::variant<Alternatives...>>
    : memarray::python::bridging::nb::ContainerCaster<memarray::python::bridging::nb::VariantCaster<Alternatives...>> {
};

}  // namespace nanobind::detail
