#pragma once

#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

namespace memarray::python {

/// Makes the type `memarray.BufferView` and adds it to the module. −1 with the Python error set.
int add_view_type(PyObject* module);
/// Returns a new Python view. `owner`: the value of `view.owner`, borrowed; may be null. Null with the Python error
/// set.
PyObject* make_view(detail::ViewCore core, PyObject* owner);
/// Like `make_view`, without an owner. Does not throw.
PyObject* wrap_view(detail::ViewCore const& core) noexcept;
/// A view as read by one thread. With the GIL it is a reference into the object, valid until the view is closed.
/// Without the GIL it is a copy, as another thread may close the view at any time.
#if defined(Py_GIL_DISABLED)
using SeenView = detail::ViewCore;
#else
using SeenView = detail::ViewCore const&;
#endif
[[nodiscard]] bool is_view(PyObject* object) noexcept;
/// Requires `is_view(object)`.
[[nodiscard]] SeenView view_of(PyObject* object) noexcept;
/// Moves the view out of a uniquely referenced object and releases the object.
[[nodiscard]] detail::ViewCore take_view(PyObject* object) noexcept;
/// Returns a new reference to `view.owner`; null without an error if there is none.
PyObject* owner_of_view(PyObject* view);

/// Reads `axis=` as a mask of dimensions: None or null (all), an integer or a tuple of integers. False with the error
/// set; throws `IndexError`, `ValueError`.
bool read_axes(PyObject* object, int ndim, detail::AxisMask& axes);
/// Implements `view[key]`: a view, or one element if `key` has an integer for each dimension.
PyObject* view_getitem(PyObject* self, PyObject* key);

}  // namespace memarray::python
