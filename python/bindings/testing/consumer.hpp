#pragma once

#include <pybind11/pybind11.h>

namespace memarray::python {

/// Adds what `memarray.testing.Consumer` is made of to the module.
void add_consumer(pybind11::module_& module);

}  // namespace memarray::python
