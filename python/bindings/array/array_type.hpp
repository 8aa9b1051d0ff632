#pragma once

#include <memarray/base/dtype.hpp>
#include <memarray/detail/state/array_state.hpp>

#include <Python.h>

#include <cstdint>
#include <vector>

namespace memarray::python {

/// Makes `_core.ArrayBase`, the base of the Python class `MemArray`, and adds it to the module. −1 with the Python
/// error set.
int add_array_type(PyObject* module);
/// Sets the class of the arrays that C++ shows. The package calls it once. Returns −1 with the Python error set if the
/// class does not derive directly from ArrayBase or adds something to it.
int set_array_class(PyObject* type);

/// Returns a new Python array that takes over the state; null with the Python error set.
PyObject* wrap_state(detail::ArrayStatePtr state);
/// Returns the state of a Python array, borrowed. Null without an error for any other object.
detail::ArrayState* unwrap_state(PyObject* object);
/// Returns a new array of `type`, a subclass of ArrayBase, with the state; null with the Python error set.
PyObject* make_array(PyTypeObject* type, detail::ArrayStatePtr state);

/// The `add_index_tuple` of an instance; null if the dtype has no `+=` with a number. An instance is the entry of the
/// registry for a pair of dtype and rank.
using AddIndex = void (*)(detail::ArrayState& state, std::int64_t stream);
int register_instance(DType const& dtype, int ndim, AddIndex add_index);
/// Returns the registry, `MemArray._TYPE_INSTANCE_MAP`: a dict, borrowed.
PyObject* instances();
int add_instances(PyObject* module);

}  // namespace memarray::python
