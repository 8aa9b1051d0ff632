#pragma once

/// @file
/// Casters for nanobind 2.12 and later, and bind_mem_array<T, ndim>: the counterpart of memarray.hpp.

#include <memarray/detail/python/arguments.hpp>
#include <memarray/detail/python/bridge.hpp>
#include <memarray/detail/python/instance.hpp>
#include <memarray/memarray.hpp>

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace memarray::python {

namespace bridging::nb {

// Hidden: each module has its own table and exception translator.
[[gnu::visibility("hidden")]] inline constinit std::atomic<Bridge const*> known_bridge{nullptr};

/// True if the Python error is set for an exception of memarray. Imports nothing: during the interpreter's exit that
/// fails.
[[gnu::visibility("hidden")]] inline bool translate(std::exception_ptr const& error) {
  Bridge const* const known = known_bridge.load(std::memory_order_acquire);
  return known && known->translate(error);
}

/// Needs the GIL.
[[gnu::visibility("hidden")]] inline Bridge const& fetch_bridge() {
  Bridge const* const table = find_bridge();
  if (!table) throw nanobind::python_error();
  nanobind::register_exception_translator([](std::exception_ptr const& error, void*) {
    if (!translate(error)) std::rethrow_exception(error);
  });
  return *table;
}

[[gnu::visibility("hidden")]] inline Bridge const& bridge() {
  Bridge const* known = known_bridge.load(std::memory_order_acquire);
  if (!known) known_bridge.store(known = &fetch_bridge(), std::memory_order_release);
  return *known;
}

inline nanobind::object checked(PyObject* made) {
  if (!made) throw nanobind::python_error();
  return nanobind::steal(made);
}

/// Needs the GIL.
inline void set_error(std::exception_ptr const& exception) noexcept {
  try {
    std::rethrow_exception(exception);
  } catch (nanobind::python_error const& error) {
    nanobind::python_error copy(error);  // `restore` empties it, but `exception` may be thrown again
    copy.restore();
  } catch (std::exception const& error) {
    if (!translate(exception)) PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown exception");
  }
}

template <class Make>
nanobind::handle made(Make const& make) noexcept {
  try {
    return make(bridge());
  } catch (...) {
    set_error(std::current_exception());
  }
  return nanobind::handle();
}

/// The last call that loaded an argument without conversions, which nanobind does for overloads alone. Their refusal
/// must not raise: another overload may take the argument. The call's own list tells it from later calls.
class [[gnu::visibility("hidden")]] OverloadSearch {
 public:
  void begin(nanobind::detail::cleanup_list* call, PyObject* argument) noexcept {
    if (!call || is_of(call)) return;
    _call = call;
    _at = call->size();
    _argument = argument;
    // The argument itself, as nanobind takes an appended object for its conversion.
    call->append(Py_NewRef(argument));
  }
  [[nodiscard]] bool is_of(nanobind::detail::cleanup_list const* call) const noexcept {
    return call && call == _call && _at < call->size() && (*call)[_at] == _argument;
  }

 private:
  nanobind::detail::cleanup_list const* _call = nullptr;
  std::size_t _at = 0;
  PyObject* _argument = nullptr;
};
[[gnu::visibility("hidden")]] inline OverloadSearch& overload_search() noexcept {
  thread_local OverloadSearch search;
  return search;
}

/// Returns where element casters store a refusal for their container's caster; null outside containers.
[[gnu::visibility("hidden")]] inline std::exception_ptr*& container_refusal() noexcept {
  thread_local std::exception_ptr* refusal = nullptr;
  return refusal;
}

[[gnu::visibility("hidden")]] inline bool is_interrupt(std::exception_ptr const& exception) noexcept {
  try {
    std::rethrow_exception(exception);
  } catch (nanobind::python_error const& error) {
    return error.matches(PyExc_KeyboardInterrupt);
  } catch (...) {
    return false;
  }
}

/// A refusal that waits, because `from_python` is `noexcept`. For a function's own argument, `check` throws it.
/// Containers and `nanobind::cast` call `can_cast`, which sets the Python error; the destructor clears it if nothing
/// raised it. nanobind may drop a refusal for that of another argument; Ctrl-C then is signalled again.
class Refusal {
 public:
  Refusal() = default;
  Refusal(Refusal const&) = delete;
  Refusal& operator=(Refusal const&) = delete;
  ~Refusal() {
    if (_sets_error) PyErr_Clear();
    if (_exception && !_is_raised && is_interrupt(_exception)) PyErr_SetInterrupt();
  }

  void set(std::exception_ptr exception) noexcept { _exception = std::move(exception); }
  void check() const {
    if (!_exception) return;
    _is_raised = true;
    std::rethrow_exception(_exception);
  }
  [[nodiscard]] bool can_cast() const noexcept {
    if (!_exception) return true;
    if (std::exception_ptr* const refusal = container_refusal()) *refusal = _exception;
    set_error(_exception);
    _sets_error = true;
    _is_raised = true;
    return false;
  }

 private:
  std::exception_ptr _exception;
  mutable bool _is_raised = false;
  mutable bool _sets_error = false;
};

template <class Parameter>
class Loader {
 public:
  static constexpr auto Name = []<std::size_t... at>(std::index_sequence<at...>) {
    return nanobind::detail::descr<sizeof...(at)>(Argument<Parameter>::name[at]...);
  }(std::make_index_sequence<Argument<Parameter>::name.size()>());
  using Value = Parameter;

  template <class>
  bool can_cast() const noexcept {
    return _refusal.can_cast();
  }

  template <class Flags>  // uint8_t or uint32_t, by nanobind's version
  bool from_python(nanobind::handle source, Flags flags, nanobind::detail::cleanup_list* cleanup) noexcept {
    bool const converts = (flags & static_cast<Flags>(nanobind::detail::cast_flags::convert)) != 0;
    try {
      Loaded const loaded = _argument.load(bridge(), source.ptr(), converts);
      if (!converts) overload_search().begin(cleanup, source.ptr());
      if (loaded == Loaded::failed && PyErr_ExceptionMatches(PyExc_TypeError) && overload_search().is_of(cleanup)) {
        PyErr_Clear();
        return false;
      }
      if (loaded == Loaded::failed) throw nanobind::python_error();
      return loaded == Loaded::yes;
    } catch (...) {
      _refusal.set(std::current_exception());
      return true;
    }
  }

 protected:
  decltype(auto) value() {
    _refusal.check();
    return _argument.value();
  }
  Argument<Parameter>& argument() const noexcept { return _argument; }
  Refusal& refusal() const noexcept { return _refusal; }

 private:
  mutable Argument<Parameter> _argument;
  mutable Refusal _refusal;
};

template <class Parameter>
class ArgumentCaster : public Loader<Parameter> {
 public:
  template <class To>
  using Cast = nanobind::detail::movable_cast_t<To>;
  explicit operator Parameter*() { return &this->value(); }
  explicit operator Parameter&() { return this->value(); }
  explicit operator Parameter&&() { return std::move(this->value()); }
};

/// A caster of spans, which are passed by value. It keeps memory and lease. Containers destroy element casters before
/// the function runs, so there the call keeps both.
template <class Span>
class SpanCaster : public Loader<Span> {
 public:
  template <class>
  using Cast = Span;

  template <class Flags>
  bool from_python(nanobind::handle source, Flags flags, nanobind::detail::cleanup_list* cleanup) noexcept {
    _kept = nullptr;
    _cleanup = cleanup;
    if ((flags & static_cast<Flags>(nanobind::detail::cast_flags::manual)) != 0) {
      this->refusal().set(std::make_exception_ptr(
          TypeError("nanobind::cast to a span would leave nothing that keeps the memory: cast to an ArrayView")));
      return true;
    }
    return Loader<Span>::from_python(source, flags, cleanup);
  }
  template <class>
  bool can_cast() const noexcept {
    if (_cleanup && !_kept) keep_for_the_call();
    return this->refusal().can_cast();
  }
  explicit operator Span() {
    if (!_kept) return this->value();
    return _kept->value();
  }

 private:
  void keep_for_the_call() const noexcept {
    try {
      auto owned = std::make_unique<Argument<Span>>(std::move(this->argument()));
      nanobind::object capsule = nanobind::steal(PyCapsule_New(owned.get(), nullptr, [](PyObject* object) {
        delete static_cast<Argument<Span>*>(PyCapsule_GetPointer(object, nullptr));
      }));
      if (!capsule.is_valid()) throw nanobind::python_error();
      _kept = owned.release();
      _cleanup->append(capsule.release().ptr());
    } catch (...) {
      this->refusal().set(std::current_exception());
    }
  }

  nanobind::detail::cleanup_list* _cleanup = nullptr;
  mutable Argument<Span>* _kept = nullptr;
};

}  // namespace bridging::nb

// Inline: in files that use pybind11 these names mean other functions.
inline namespace with_nanobind {

/// Like `initialize` of memarray.hpp, for all functions bound by nanobind.
inline void initialize() { bridging::nb::bridge(); }

/// Like `as_py` of handle_casters.hpp.
inline nanobind::object as_py(StreamHandle const& stream) {
  return bridging::nb::checked(bridging::nb::bridge().wrap_stream(stream));
}
inline nanobind::object as_py(EventHandle const& event) {
  return bridging::nb::checked(bridging::nb::bridge().wrap_event(event));
}
inline nanobind::object as_py(MemoryPoolHandle const& pool) {
  return bridging::nb::checked(bridging::nb::bridge().wrap_pool(pool));
}

}  // namespace with_nanobind

/// Like `bind_mem_array` of memarray.hpp.
template <class T, int ndim>
void bind_mem_array(nanobind::module_&) {
  if (bridging::register_instance<T, ndim>(bridging::nb::bridge()) != 0) throw nanobind::python_error();
}

}  // namespace memarray::python

namespace memarray {
using python::as_py;
using python::bind_mem_array;
}  // namespace memarray

namespace nanobind::detail {

/// A caster that shares the state under any return value policy. A result by value hands it over.
template <class T, int ndim>
struct type_caster<memarray::MemArray<T, ndim>>
    : memarray::python::bridging::nb::ArgumentCaster<memarray::MemArray<T, ndim>> {
  using Array = memarray::MemArray<T, ndim>;

  static handle from_cpp(Array const& array, rv_policy, cleanup_list*) noexcept {
    return memarray::python::bridging::nb::made(
        [&](auto const& bridge) { return bridge.wrap(memarray::detail::ArrayStatePtr::share(&array.state())); });
  }
  static handle from_cpp(Array&& array, rv_policy, cleanup_list*) noexcept {
    return memarray::python::bridging::nb::made([&](auto const& bridge) { return bridge.wrap(array.take_state()); });
  }
  static handle from_cpp(Array const* array, rv_policy policy, cleanup_list* cleanup) noexcept {
    if (!array) return none().release();
    handle const result = from_cpp(*array, policy, cleanup);
    if (policy == rv_policy::take_ownership) delete array;
    return result;
  }
};

/// Like the caster of `MemArray`; a null pointer is None.
template <class T, int ndim>
struct type_caster<std::shared_ptr<memarray::MemArray<T, ndim>>>
    : memarray::python::bridging::nb::ArgumentCaster<std::shared_ptr<memarray::MemArray<T, ndim>>> {
  using Array = memarray::MemArray<T, ndim>;

  static handle from_cpp(std::shared_ptr<Array> const& pointer, rv_policy policy, cleanup_list* cleanup) noexcept {
    return pointer ? type_caster<Array>::from_cpp(*pointer, policy, cleanup) : none().release();
  }
};
template <class T, int ndim>
struct has_arg_defaults<std::shared_ptr<memarray::MemArray<T, ndim>>> : std::true_type {};

/// A caster that borrows memory of any library; a misfit is a `TypeError` with the reason. A result becomes a
/// `BufferView` without a lease.
template <class T, int ndim, memarray::ViewOptions options>
struct type_caster<memarray::ArrayView<T, ndim, options>>
    : memarray::python::bridging::nb::ArgumentCaster<memarray::ArrayView<T, ndim, options>> {
  static handle from_cpp(memarray::ArrayView<T, ndim, options> const& view, rv_policy, cleanup_list*) noexcept {
    return memarray::python::bridging::nb::made([&](auto const& bridge) { return bridge.wrap_view(view.core()); });
  }
};

template <class T, std::size_t extent>
  requires memarray::Element<T>
struct type_caster<std::span<T, extent>> : memarray::python::bridging::nb::SpanCaster<std::span<T, extent>> {};

template <class T, class Index, std::size_t... extents, class Layout>
  requires memarray::Element<T>
struct type_caster<cuda::std::mdspan<T, cuda::std::extents<Index, extents...>, Layout>>
    : memarray::python::bridging::nb::SpanCaster<cuda::std::mdspan<T, cuda::std::extents<Index, extents...>, Layout>> {
};

template <>
struct type_caster<memarray::StreamHandle> : memarray::python::bridging::nb::ArgumentCaster<memarray::StreamHandle> {
  static handle from_cpp(memarray::StreamHandle const& stream, rv_policy, cleanup_list*) noexcept {
    return memarray::python::bridging::nb::made([&](auto const& bridge) { return bridge.wrap_stream(stream); });
  }
};
template <>
struct has_arg_defaults<memarray::StreamHandle> : std::true_type {};

}  // namespace nanobind::detail

#include <memarray/detail/python/nanobind_containers.hpp>
