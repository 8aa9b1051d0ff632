#pragma once

#include "lease_type.hpp"

#include <memarray/array/stream_choice.hpp>
#include <memarray/python/bridge.hpp>
#include <memarray/resource/event_handle.hpp>
#include <memarray/resource/memory_pool_handle.hpp>

#include <pybind11/pybind11.h>

namespace memarray::python {

/// A device's number, as a parameter of functions that pybind11 binds.
struct DeviceId {
  int value = 0;
  operator int() const noexcept { return value; }
};

/// The stream of a `Stream` or an object with `__cuda_stream__`, which the choice then keeps. Throws `TypeError`,
/// `CudaError`, and what `__cuda_stream__` raises. Without a driver it is not looked at.
StreamChoice stream_of(pybind11::handle object);

/// What casters ask for: see `Bridge::load_stream`.
Loaded load_stream(PyObject* object, bool converts, StreamHandle& stream) noexcept;

/// A new `Stream`, `Event` or `MemoryPool` with the handle; null with the Python error set.
PyObject* wrap_stream(StreamHandle const& stream);
PyObject* wrap_event(EventHandle const& event);
PyObject* wrap_pool(MemoryPoolHandle const& pool);

/// Adds `Stream`, `Event`, `MemoryPool` and what tests of devices need to the module.
void add_resource_types(pybind11::module_& module);
void add_simulated_devices(pybind11::module_& module);
/// Adds what `memarray.cuda` is made of.
void add_cuda_functions(pybind11::module_& module);
/// Bytes reserved and used, now and at most.
pybind11::dict to_dict(MemoryPoolStatistics const& statistics);

}  // namespace memarray::python

template <>
struct pybind11::detail::type_caster<memarray::python::DeviceId> {
  PYBIND11_TYPE_CASTER(memarray::python::DeviceId, const_name("typing.SupportsIndex"));
  /// Throws what `read_device_id` raises, so that all functions say the same.
  bool load(handle source, bool) {
    if (!memarray::python::read_device_id(source.ptr(), value.value)) throw error_already_set();
    return true;
  }
  static handle cast(memarray::python::DeviceId id, return_value_policy, handle) { return PyLong_FromLong(id.value); }
};
