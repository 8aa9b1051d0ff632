#pragma once

#include <memarray/base/dtype.hpp>

#include <Python.h>

#include <cstdint>

namespace memarray::python {

/// What `copy=` asks for.
enum class Copy : std::uint8_t {
  allowed,  ///< None: a producer may make one; this library makes none
  always,   ///< True
  never,    ///< False: nor may the producer
};

/// Interns names; once, at import.
bool init_view_import();
/// Reads `copy=`. False with the error set.
bool read_copy(PyObject* object, Copy& copy);
/// 1: `result` is a view of what lends memory, or null with the error set; 0: it lends none.
int import_view(PyObject* object, Copy copy, PyObject*& result);
/// BufferView(obj, copy=…): a view of anything that lends memory.
PyObject* import_any(PyObject* object, PyObject* copy);
// BufferView.from_dlpack, from_buffer and from_numpy.
PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keywords);
PyObject* from_buffer(PyObject*, PyObject* args, PyObject* keywords);
PyObject* from_numpy(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keywords);

/// The shipped element type that `object` means, as `np.dtype` reads it; null with the Python error set.
DType const* read_dtype(PyObject* object);

}  // namespace memarray::python
