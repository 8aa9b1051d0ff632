#pragma once

#include <memarray/base/dtype.hpp>

#include <Python.h>

#include <cstdint>

namespace memarray::python {

/// The value of `copy=` in an import.
enum class Copy : std::uint8_t {
  allowed,  ///< None: the producer may copy; memarray does not
  always,   ///< True: memarray copies
  never,    ///< False: the producer may not copy either
};

bool init_view_import();
bool read_copy(PyObject* object, Copy& copy);
/// Imports over any protocol. 1: `result` is the view, or null with an error set; 0: the object exports no memory.
int import_view(PyObject* object, Copy copy, PyObject*& result);
/// Implements `BufferView(obj, copy=…)`.
PyObject* import_any(PyObject* object, PyObject* copy);
PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keywords);
PyObject* from_buffer(PyObject*, PyObject* args, PyObject* keywords);
PyObject* from_numpy(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keywords);

/// Returns the dtype that `object` names, read as `np.dtype` does.
DType const* read_dtype(PyObject* object);

}  // namespace memarray::python
