#pragma once

// For pybind11 modules: MemArray<T, ndim> as argument and return value, and bind_mem_array<T, ndim>.

#include <memarray/base/build_info.hpp>
#include <memarray/memarray.hpp>
#include <memarray/python/bridge.hpp>

#include <pybind11/pybind11.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace memarray::python {

namespace bridging {

/// Fetches the table; once a module, with the GIL. Everything that can call Python happens outside any C++ lock.
inline Bridge const& fetch_bridge() {
  require_abi(MEMARRAY_ABI_VERSION, MEMARRAY_HAS_CUDA != 0);
  pybind11::module_::import("memarray");
  auto const* const table = static_cast<Bridge const*>(PyCapsule_Import(Bridge::capsule_name, 0));
  if (!table) throw pybind11::error_already_set();
  if (table->version != Bridge::current_version)
    throw pybind11::import_error(
        "this module was compiled for another version of memarray's Python table: build it again");
  pybind11::register_local_exception_translator([](std::exception_ptr error) {
    if (error && !static_cast<Bridge const*>(PyCapsule_Import(Bridge::capsule_name, 0))->translate(error))
      std::rethrow_exception(error);
  });
  return *table;
}

// One a module, so hidden: the translator is registered in the module that asks.
[[gnu::visibility("hidden")]] inline Bridge const& bridge() {
  static Bridge const* table = nullptr;  // a constant: no guard is held while Python runs
  if (!table) table = &fetch_bridge();
  return *table;
}

}  // namespace bridging

namespace bridging {
inline pybind11::object checked(PyObject* made) {
  if (!made) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(made);
}
}  // namespace bridging

/// The handle as a `memarray.Stream`, `Event` or `MemoryPool`, which shares it: what it stands for lives as long as
/// either. Null is a `ValueError`. With the GIL. (Seed 000, "Accessing Handle Values".)
inline pybind11::object as_py(StreamHandle const& stream) {
  return bridging::checked(bridging::bridge().wrap_stream(stream));
}
inline pybind11::object as_py(EventHandle const& event) {
  return bridging::checked(bridging::bridge().wrap_event(event));
}
inline pybind11::object as_py(MemoryPoolHandle const& pool) {
  return bridging::checked(bridging::bridge().wrap_pool(pool));
}

/// Makes memarray's exceptions arrive in Python as what they are, from every function of this module. Casters and
/// `bind_mem_array` do it too; call it first in a module whose functions may throw before they are used.
inline void initialize() { bridging::bridge(); }

/// Registers the instance `MemArray<T, ndim>`, so that `memarray.MemArray(shape, dtype)` can make it; T may be a struct
/// of the module's own with MEMARRAY_DTYPE. Registering an instance again changes nothing.
template <class T, int ndim>
void bind_mem_array(pybind11::module_&) {
  void (*add_index)(detail::State&, std::int64_t) = nullptr;
  if constexpr (requires(T element, std::int64_t number) { static_cast<T>(element + static_cast<T>(number)); })
    add_index = [](detail::State& state, std::int64_t stream) {
      auto array = MemArray<T, ndim>::share(detail::StatePtr::share(&state));
      add_index_tuple(array, stream);
    };
  if (bridging::bridge().register_instance(dtype_of<T>(), ndim, add_index) != 0) throw pybind11::error_already_set();
}

}  // namespace memarray::python

namespace memarray {
using python::as_py;
using python::bind_mem_array;
}  // namespace memarray

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
    memarray::detail::State* const state = memarray::python::bridging::bridge().unwrap(source.ptr());
    if (!state) return false;
    if (!(state->dtype() == memarray::dtype_of<T>()) || state->ndim() != ndim) {
      if (!convert) return false;
      throw type_error("a MemArray<" + std::string(memarray::dtype_of<T>().name_view()) + ", " + std::to_string(ndim) +
                       "> is needed, not " + state->describe());
    }
    _array = Array::share(memarray::detail::StatePtr::share(state));
    return true;
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

}  // namespace pybind11::detail
