#pragma once

#include <Python.h>

namespace memarray::python {

// The number and sequence protocols of views. Leases offer them through a view of their memory.

/// Implement `int(view)`, `float(view)` and `complex(view)`: the value of the only element. Raise `TypeError` for more
/// or fewer elements.
PyObject* view_int(PyObject* self);
PyObject* view_float(PyObject* self);
PyObject* view_complex(PyObject* self, PyObject*);
/// Implements `operator.index(view)` as NumPy does: for integer views without dimensions only, else `TypeError`.
PyObject* view_as_index(PyObject* self);

/// Implements `iter(view)`: rows as views; elements of a 1-d view as Python numbers. Raises `TypeError` for a view
/// without dimensions.
PyObject* view_iter(PyObject* self);
/// Returns row `index`, or raises `IndexError`. A negative index is out of range.
PyObject* view_row(PyObject* self, Py_ssize_t index);
/// Implements `value in view`: 1 if an element equals `value`, 0 if none does, −1 with the error set.
int view_contains(PyObject* self, PyObject* value);

/// Implements `view.tolist()`: nested lists of Python numbers; one number for a view without dimensions.
PyObject* view_tolist(PyObject* self, PyObject*);
/// Implements `view.tobytes(order="C")`: the bytes of all elements.
PyObject* view_tobytes(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords);

/// Calls `function` with `lease.view()`: the implementation of these protocols for leases.
PyObject* through_view(PyObject* lease, PyObject* (*function)(PyObject*));

/// Compares views, leases and arrays by identity. An object equals itself, so that sets and weak containers can hold
/// it. A comparison with `None` is allowed. Every other comparison raises `TypeError`.
PyObject* compare_identity(PyObject* self, PyObject* other, int operation);
/// Returns the hash that matches `compare_identity`.
Py_hash_t hash_identity(PyObject* self);

/// Interns names. Call once, with the GIL. False with the Python error set.
bool init_view_numbers();

}  // namespace memarray::python
