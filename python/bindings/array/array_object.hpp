#pragma once

// Shared by the source files of `memarray._core.ArrayBase`.

#include <memarray/detail/state/array_state.hpp>

#include <Python.h>

namespace memarray::python {

struct PyArray {
  PyObject_HEAD PyObject* weak_references;
  detail::ArrayStatePtr state;
};

inline detail::ArrayState& state_of(PyObject* self) noexcept { return *reinterpret_cast<PyArray*>(self)->state; }

extern PyGetSetDef array_properties[];

}  // namespace memarray::python
