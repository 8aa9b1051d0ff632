#pragma once

#include <memarray/array/view_core.hpp>

#include <Python.h>

namespace memarray::python {

/// Makes the type `memarray.BufferView` and adds it to the module. −1 with the Python error set.
int add_view_type(PyObject* module);
/// A new Python view. `owner`: what `view.owner` says, borrowed; may be null. Null with the Python error set.
PyObject* make_view(detail::ViewCore core, PyObject* owner);
/// The same of a view of nobody's, for those who must not throw.
PyObject* wrap_view(detail::ViewCore const& core) noexcept;
/// The view in `object`, or null without an error.
detail::ViewCore* view_of(PyObject* object);
/// What `view.owner` says, a new reference; null without an error if it has none.
PyObject* owner_of_view(PyObject* view);

/// Reads `axis=`: None or null (all), an integer or a tuple of them, as a mask of dimensions. False with the error set;
/// throws `IndexError`, `ValueError`.
bool read_axes(PyObject* object, int ndim, detail::AxisMask& axes);
/// `view[key]`: a view, or one element where an integer is given for each dimension.
PyObject* view_getitem(PyObject* self, PyObject* key);

}  // namespace memarray::python
