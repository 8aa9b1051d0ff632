#pragma once

#include <memarray/base/dtype.hpp>
#include <memarray/detail/state/array_state.hpp>

#include <Python.h>

#include <cstdint>
#include <vector>

namespace memarray::python {

/// Adds `_core.ArrayBase`, the base of `MemArray`.
int add_array_type(PyObject* module);
/// Sets the class of the arrays that C++ makes. It derives directly from ArrayBase and adds nothing.
int set_array_class(PyObject* type);

/// Returns a new Python array of the state.
PyObject* wrap_state(detail::ArrayStatePtr state);
/// Returns the state, borrowed; null without an error for other objects.
detail::ArrayState* unwrap_state(PyObject* object);
/// Like `wrap_state`, for a subclass of ArrayBase.
PyObject* make_array(PyTypeObject* type, detail::ArrayStatePtr state);

/// Implements `add_index_tuple` for one dtype and rank; null if the dtype has no `+=` with a number.
using AddIndex = void (*)(detail::ArrayState& state, std::int64_t stream);
int register_instance(DType const& dtype, int ndim, AddIndex add_index);
/// Returns the dict `MemArray._TYPE_INSTANCE_MAP`, borrowed.
PyObject* instances();
int add_instances(PyObject* module);

}  // namespace memarray::python
