#pragma once

#include <Python.h>

namespace memarray::python {

// The number and sequence protocols of views, and of leases through `through_view`.

/// Implement `int`, `float` and `complex` for a view of exactly one element, else raise `TypeError`.
PyObject* view_int(PyObject* self);
PyObject* view_float(PyObject* self);
PyObject* view_complex(PyObject* self, PyObject*);
/// Implements `operator.index` as NumPy does: for integer views without dimensions, else `TypeError`.
PyObject* view_as_index(PyObject* self);

/// Implements `iter`: rows as views, or elements of a 1-d view as Python numbers. Raises `TypeError` without
/// dimensions.
PyObject* view_iter(PyObject* self);
/// Returns row `index`. Raises `IndexError`, also for negative indices.
PyObject* view_row(PyObject* self, Py_ssize_t index);
/// Implements `value in view`: 1 if an element equals `value`, else 0.
int view_contains(PyObject* self, PyObject* value);

/// Implements `tolist`: nested lists of Python numbers, or one number without dimensions.
PyObject* view_tolist(PyObject* self, PyObject*);
/// Implements `tobytes(order="C")`.
PyObject* view_tobytes(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords);

/// Calls `function` with `lease.view()`.
PyObject* through_view(PyObject* lease, PyObject* (*function)(PyObject*));

/// Compares by identity, with the object itself or `None`, for sets and weak containers. Any other comparison raises
/// `TypeError`.
PyObject* compare_identity(PyObject* self, PyObject* other, int operation);
Py_hash_t hash_identity(PyObject* self);

bool init_view_numbers();

}  // namespace memarray::python
