#pragma once

#include <memarray/array/stream_choice.hpp>
#include <memarray/resource/memory_pool_handle.hpp>

#include <pybind11/pybind11.h>

namespace memarray::python {

/// The stream of a `Stream` or an object with `__cuda_stream__`, which the choice then keeps. Throws `TypeError`,
/// `CudaError`, and what `__cuda_stream__` raises. Without a driver it is not looked at.
StreamChoice stream_of(pybind11::handle object);

/// Adds `Stream`, `Event`, `MemoryPool` and what tests of devices need to the module.
void add_resource_types(pybind11::module_& module);
void add_simulated_devices(pybind11::module_& module);
/// Adds what `memarray.cuda` is made of.
void add_cuda_functions(pybind11::module_& module);
/// Bytes reserved and used, now and at most.
pybind11::dict to_dict(MemoryPoolStatistics const& statistics);

}  // namespace memarray::python
