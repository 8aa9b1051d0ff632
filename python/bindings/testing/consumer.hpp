#pragma once

#include <pybind11/pybind11.h>

namespace memarray::python {

/// Adds the classes behind `memarray.testing.Consumer`.
void add_consumer(pybind11::module_& module);

}  // namespace memarray::python
