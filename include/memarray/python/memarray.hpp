#pragma once

/// @file
/// Casters for pybind11 modules: arrays, views and streams as arguments and results; and bind_mem_array<T, ndim>.

#include <memarray/detail/python/array_casters.hpp>
#include <memarray/detail/python/instance.hpp>
#include <memarray/detail/python/module_bridge.hpp>
#include <memarray/detail/python/view_casters.hpp>
#include <memarray/memarray.hpp>
#include <memarray/python/handle_casters.hpp>

#include <pybind11/pybind11.h>

namespace memarray::python {

/// Makes memarray's exceptions keep their Python types in this module. Needed only if functions may throw before a
/// caster or `bind_mem_array` is used.
inline void initialize() { bridging::bridge(); }

/// Registers `MemArray<T, ndim>` for `memarray.MemArray(shape, dtype)`. T may be a struct of the module with
/// MEMARRAY_DTYPE. Repetition changes nothing. Throws the Python error. Needs the GIL.
template <class T, int ndim>
void bind_mem_array(pybind11::module_&) {
  if (bridging::register_instance<T, ndim>(bridging::bridge()) != 0) throw pybind11::error_already_set();
}

}  // namespace memarray::python

namespace memarray {
using python::bind_mem_array;
}  // namespace memarray
