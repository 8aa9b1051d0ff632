#pragma once

#include <memarray/detail/python/arguments.hpp>
#include <memarray/detail/python/bridge.hpp>

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

namespace memarray::python {

namespace bridging {

// Hidden: each module has its own table and exception translator.
[[gnu::visibility("hidden")]] inline constinit std::atomic<Bridge const*> known_bridge{nullptr};

/// Needs the GIL.
[[gnu::visibility("hidden")]] inline Bridge const& fetch_bridge() {
  Bridge const* const table = find_bridge();
  if (!table) throw pybind11::error_already_set();
  pybind11::register_local_exception_translator([](std::exception_ptr error) {
    // Imports nothing: during the interpreter's exit that fails.
    Bridge const* const known = known_bridge.load(std::memory_order_acquire);
    if (error && !(known && known->translate(error))) std::rethrow_exception(error);
  });
  return *table;
}

[[gnu::visibility("hidden")]] inline Bridge const& bridge() {
  Bridge const* known = known_bridge.load(std::memory_order_acquire);
  if (!known) known_bridge.store(known = &fetch_bridge(), std::memory_order_release);
  return *known;
}

/// Throws the Python error for null.
inline pybind11::object checked(PyObject* made) {
  if (!made) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(made);
}

template <class Parameter>
class Loader {
 public:
  static constexpr auto name = []<std::size_t... at>(std::index_sequence<at...>) {
    return pybind11::detail::descr<sizeof...(at)>(Argument<Parameter>::name[at]...);
  }(std::make_index_sequence<Argument<Parameter>::name.size()>());

  bool load(pybind11::handle source, bool convert) {
    _error = nullptr;
    Loaded const loaded = _argument.load(bridge(), source.ptr(), convert);
    if (loaded != Loaded::failed) return loaded == Loaded::yes;
    bool const can_wait = PyErr_ExceptionMatches(PyExc_Exception) != 0;  // unlike `KeyboardInterrupt`
    _error = std::make_exception_ptr(pybind11::error_already_set());
    if (!can_wait) std::rethrow_exception(_error);
    return true;
  }

 protected:
  /// Throws the error of `load`, which waits because another argument may not fit this overload.
  decltype(auto) value() {
    if (_error) std::rethrow_exception(_error);
    return _argument.value();
  }

 private:
  Argument<Parameter> _argument;
  std::exception_ptr _error;
};

template <class>
inline constexpr bool is_refused = false;

template <class Parameter>
class ArgumentCaster : public Loader<Parameter> {
 public:
  template <class To>
  using cast_op_type = std::conditional_t<std::is_same_v<std::remove_cv_t<To>, Parameter>, Parameter,
                                          pybind11::detail::movable_cast_op_type<To>>;
  operator Parameter() & { return this->value(); }
  operator Parameter*() && { return &this->value(); }
  operator Parameter&() && { return this->value(); }
  operator Parameter&&() && { return std::move(this->value()); }
  // PYBIND11_OVERRIDE has one caster for all calls.
  operator Parameter*() & { return refuse(); }
  operator Parameter&() & { return *refuse(); }

 private:
  Parameter* refuse() {
    static_assert(is_refused<Parameter>,
                  "memarray: a method that Python overrides returns an array by value or as a std::shared_ptr, and a "
                  "view or stream by value: a reference or pointer would refer to its caster");
    return nullptr;
  }
};

/// A base of casters whose values are valid as long as the caster. `pybind11::cast` moves and drops the caster.
template <class Value>
class ValidDuringCall {
 public:
  ValidDuringCall() = default;
  ValidDuringCall(ValidDuringCall&&) noexcept {
    static_assert(is_refused<Value>,
                  "memarray: pybind11::cast to a span, mdspan or std::reference_wrapper would leave nothing that keeps "
                  "the memory: cast to an ArrayView or a MemArray");
  }
};

/// A caster of spans, which are passed by value.
template <class Span>
class SpanCaster : public Loader<Span>, ValidDuringCall<Span> {
 public:
  template <class>
  using cast_op_type = Span;
  operator Span() { return this->value(); }
};

}  // namespace bridging

}  // namespace memarray::python
