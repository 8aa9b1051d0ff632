#pragma once

// One source for a module of pybind11 and one of nanobind, where TRACERS_NANOBIND is defined.

#ifdef TRACERS_NANOBIND
#include <memarray/python/nanobind.hpp>

namespace py = nanobind;
#define TRACERS_MODULE(name, module) NB_MODULE(name, module)
#else
#include <memarray/python/memarray.hpp>

#include <pybind11/pybind11.h>

namespace py = pybind11;
#define TRACERS_MODULE(name, module) PYBIND11_MODULE(name, module, pybind11::mod_gil_not_used())
#endif

namespace tracers {

/// Functions that take memory of any library, from a file that nvcc compiles where it is there.
void bind_views(py::module_& module);

}  // namespace tracers
