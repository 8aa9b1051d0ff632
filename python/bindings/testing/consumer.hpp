#pragma once

#include <pybind11/pybind11.h>

namespace memarray::python {

/// Adds `ConsumerView`, `ConsumerReading` and the backlog of `memarray.testing.Consumer` to the module.
void add_consumer(pybind11::module_& module);

}  // namespace memarray::python
