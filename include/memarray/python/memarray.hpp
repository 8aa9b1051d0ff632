#pragma once

/// @file
/// pybind11 casters for arrays, views and streams, and bind_mem_array<T, ndim>.

#include <memarray/detail/python/array_casters.hpp>
#include <memarray/detail/python/instance.hpp>
#include <memarray/detail/python/module_bridge.hpp>
#include <memarray/detail/python/view_casters.hpp>
#include <memarray/memarray.hpp>
#include <memarray/python/handle_casters.hpp>

#include <pybind11/pybind11.h>

namespace memarray::python {

/// Gives memarray's exceptions their Python types in this module, as does the first use of a caster or
/// `bind_mem_array`.
inline void initialize() { bridging::bridge(); }

/// Registers `MemArray<T, ndim>` for `memarray.MemArray(shape, dtype)`; repetition changes nothing. T may be a struct
/// with MEMARRAY_DTYPE. Throws the Python error. Needs the GIL.
template <class T, int ndim>
void bind_mem_array(pybind11::module_&) {
  if (bridging::register_instance<T, ndim>(bridging::bridge()) != 0) throw pybind11::error_already_set();
}

}  // namespace memarray::python

namespace memarray {
using python::bind_mem_array;
}  // namespace memarray
