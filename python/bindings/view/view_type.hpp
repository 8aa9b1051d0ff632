#pragma once

#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

namespace memarray::python {

int add_view_type(PyObject* module);
/// Returns a new Python view. `owner`: the value of `view.owner`, borrowed; may be null.
PyObject* make_view(detail::ViewCore core, PyObject* owner);
/// Like `make_view`, without an owner.
PyObject* wrap_view(detail::ViewCore const& core) noexcept;
/// One thread's view: with the GIL a reference, valid until closed; without it a copy, as other threads may close it.
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
/// Returns a new reference to `view.owner`, or null without an error.
PyObject* owner_of_view(PyObject* view);

/// Reads `axis=`: None or null (all), an integer or a tuple of integers. Throws `IndexError`, `ValueError`.
bool read_axes(PyObject* object, int ndim, detail::AxisMask& axes);
/// Implements `view[key]`: a view, or one element if integers index all dimensions.
PyObject* view_getitem(PyObject* self, PyObject* key);
/// Raises `TypeError`: elements of views and leases are not assigned to.
int refuse_assignment(PyObject* self, PyObject* key, PyObject* value);

}  // namespace memarray::python
