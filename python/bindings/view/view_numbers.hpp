#pragma once

#include <Python.h>

namespace memarray::python {

// The number and sequence protocols of views. Leases offer the same through a view of their memory.

/// `int(view)`, `float(view)`, `complex(view)`: the value of the only element. `TypeError` for more or fewer.
PyObject* view_int(PyObject* self);
PyObject* view_float(PyObject* self);
PyObject* view_complex(PyObject* self, PyObject*);
/// `operator.index(view)`: as NumPy, of a view of integers without dimensions; else `TypeError`.
PyObject* view_as_index(PyObject* self);

/// `iter(view)`: rows as views; of one dimension, elements as Python numbers. `TypeError` without dimensions.
PyObject* view_iter(PyObject* self);
/// Returns row `index`, which is not below 0, or raises `IndexError`.
PyObject* view_row(PyObject* self, Py_ssize_t index);
/// `value in view`: 1 if one element equals `value`, 0 if none does, -1 with the error set.
int view_contains(PyObject* self, PyObject* value);

/// `view.tolist()`: nested lists of Python numbers; without dimensions, one number.
PyObject* view_tolist(PyObject* self, PyObject*);
/// `view.tobytes(order="C")`: the bytes of all elements.
PyObject* view_tobytes(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords);

/// Calls `function` with `lease.view()`: how a lease offers what its views do.
PyObject* through_view(PyObject* lease, PyObject* (*function)(PyObject*));

/// The comparison of views, leases and arrays. An object equals itself, so that sets and weak containers hold it. Every
/// other comparison is a `TypeError`.
PyObject* compare_identity(PyObject* self, PyObject* other, int operation);
/// The hash that goes with `compare_identity`.
Py_hash_t hash_identity(PyObject* self);

/// Interns names; call once, with the GIL. False with the Python error set.
bool init_view_numbers();

}  // namespace memarray::python
