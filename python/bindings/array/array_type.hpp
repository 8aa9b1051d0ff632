#pragma once

#include <memarray/base/dtype.hpp>
#include <memarray/detail/state/state.hpp>

#include <Python.h>

#include <cstdint>
#include <vector>

namespace memarray::python {

/// Makes `_core.ArrayBase`, which the Python class `MemArray` extends, and adds it to the module.
int add_array_type(PyObject* module);
/// The class that arrays shown by C++ get; called once, by the package. −1 with the Python error set for another class
/// than one that adds nothing to ArrayBase.
int set_array_class(PyObject* type);

/// A new Python array with the state, which it takes over.
PyObject* wrap_state(detail::StatePtr state);
/// The state of a Python array, borrowed, or null without an error.
detail::State* unwrap_state(PyObject* object);
/// A new array of `type` (a subclass of ArrayBase) with the state.
PyObject* make_array(PyTypeObject* type, detail::StatePtr state);

/// Instances: what the registry holds for a pair of dtype and rank.
using AddIndex = void (*)(detail::State& state, std::int64_t stream);
int register_instance(DType const& dtype, int ndim, AddIndex add_index);
/// The registry, `MemArray._TYPE_INSTANCE_MAP`: a dict, borrowed.
PyObject* instances();
int add_instances(PyObject* module);

}  // namespace memarray::python
