#pragma once

#include <Python.h>

namespace memarray::python {

// The number and sequence protocols of views. Leases use them on `lease.view()`.

/// Raise `TypeError` unless the view has one element.
PyObject* view_int(PyObject* self);
PyObject* view_float(PyObject* self);
PyObject* view_complex(PyObject* self, PyObject*);
int view_bool(PyObject* self);
/// Raises `TypeError` unless the view is of integers without dimensions, as in NumPy.
PyObject* view_as_index(PyObject* self);

/// Returns an iterator over rows as views, or over the numbers of one dimension. Raises `TypeError` without dimensions.
PyObject* view_iter(PyObject* self);
/// Returns row `index`. Raises `IndexError`, also for negative indices.
PyObject* view_row(PyObject* self, Py_ssize_t index);
/// Returns 1 if an element equals `value`, else 0.
int view_contains(PyObject* self, PyObject* value);

PyObject* view_tolist(PyObject* self, PyObject*);
PyObject* view_tobytes(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords);

/// Compares by identity, for sets and weak containers. Raises `TypeError` except for the object itself and `None`.
PyObject* compare_identity(PyObject* self, PyObject* other, int operation);
Py_hash_t hash_identity(PyObject* self);

bool init_view_numbers();

}  // namespace memarray::python
