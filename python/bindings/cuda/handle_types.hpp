#pragma once

#include "helpers.hpp"
#include "lease/lease_type.hpp"
#include "shown.hpp"

#include <memarray/detail/python/bridge.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/driver/stream_choice.hpp>

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace memarray::python {

/// A device number as a pybind11 parameter.
struct DeviceId {
  int value = 0;
  operator int() const noexcept { return value; }
};

/// A pybind11 parameter whose error message shows the object briefly. Integers are refused if they have a fraction,
/// which pybind11 would cut off.
template <class T>
struct Parameter {
  T value{};
  operator T const&() const noexcept { return value; }
};

template <class T>
inline constexpr bool is_integer_parameter = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool is_integer_parameter<std::optional<T>> = true;

/// Returns the stream of a `Stream`, or of an object with `__cuda_stream__`, which the choice keeps alive. Without a
/// driver, checks `__cuda_stream__` and returns the default choice. Throws `TypeError`, `ValueError`, `CudaError`,
/// errors of
/// `__cuda_stream__`.
StreamChoice stream_of(pybind11::handle object);

/// Implements `Bridge::load_stream`.
Loaded load_stream(PyObject* object, bool converts, StreamHandle& stream) noexcept;

PyObject* wrap_stream(StreamHandle const& stream);
PyObject* wrap_event(EventHandle const& event);
PyObject* wrap_pool(MemoryPoolHandle const& pool);

/// Adds `Stream`, `Event`, `MemoryPool` and `synchronize`.
void add_resource_types(pybind11::module_& module);
/// Adds `SimulatedDevices` and `Violation` of `memarray.testing`.
void add_simulated_devices(pybind11::module_& module);
void add_cuda_functions(pybind11::module_& module);
pybind11::dict to_dict(MemoryPoolStatistics const& statistics);

}  // namespace memarray::python

template <>
struct pybind11::detail::type_caster<memarray::python::DeviceId> {
  PYBIND11_TYPE_CASTER(memarray::python::DeviceId, const_name("typing.SupportsIndex"));
  bool load(handle source, bool) {
    if (!memarray::python::read_device_id(source.ptr(), value.value)) throw error_already_set();
    return true;
  }
  static handle cast(memarray::python::DeviceId id, return_value_policy, handle) { return PyLong_FromLong(id.value); }
};

template <class T>
struct pybind11::detail::type_caster<memarray::python::Parameter<T>> {
  PYBIND11_TYPE_CASTER(memarray::python::Parameter<T>, make_caster<T>::name);
  bool load(handle source, bool) {
    make_caster<T> inner;
    bool const fits =
        !memarray::python::is_integer_parameter<T> || source.is_none() || memarray::python::is_integer(source.ptr());
    if (!fits || !inner.load(source, true)) {
      PyErr_Clear();
      constexpr char const* expected = std::is_same_v<T, bool>                      ? "True or False"
                                       : std::is_same_v<T, int>                     ? "an integer of 32 bits"
                                       : std::is_unsigned_v<T>                      ? "an integer from 0 to 2**64 - 1"
                                       : std::is_same_v<T, double>                  ? "a number"
                                       : std::is_convertible_v<T, std::string_view> ? "a str"
                                       : std::is_same_v<T, std::optional<int>>
                                           ? "None or an integer of 32 bits"
                                           : "None or an integer from 0 to 2**64 - 1";
      PyErr_Format(PyExc_TypeError, "expected %s, got %s", expected, memarray::python::shown(source.ptr()).c_str());
      throw error_already_set();
    }
    value.value = cast_op<T>(std::move(inner));
    return true;
  }
  static handle cast(memarray::python::Parameter<T> const& given, return_value_policy policy, handle parent) {
    return make_caster<T>::cast(given.value, policy, parent);
  }
};
