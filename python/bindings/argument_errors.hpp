#pragma once

#include <pybind11/pybind11.h>

namespace memarray::python {

/// Cuts the reprs of all arguments from the errors of functions that pybind11 binds in the module: these may be of any
/// length. To be called when the module has all its functions.
void shorten_argument_errors(pybind11::module_ const& module);

}  // namespace memarray::python
