#pragma once

#include <pybind11/pybind11.h>

namespace memarray::python {

/// Adds `Stream`, `Event`, `MemoryPool` and what tests of devices need to the module.
void add_resource_types(pybind11::module_& module);
void add_simulated_devices(pybind11::module_& module);

}  // namespace memarray::python
