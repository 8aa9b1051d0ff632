#pragma once

#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

namespace memarray::python {

/// Makes the type `memarray.BufferView` and adds it to the module. −1 with the Python error set.
int add_view_type(PyObject* module);
/// A new Python view. `owner`: what `view.owner` says, borrowed; may be null. Null with the Python error set.
PyObject* make_view(detail::ViewCore core, PyObject* owner);
/// The same of a view of nobody's, for those who must not throw.
PyObject* wrap_view(detail::ViewCore const& core) noexcept;
/// A view as it is now: with the GIL the object's own, until it is closed; without the GIL a copy, as any other thread
/// may close it meanwhile.
#if defined(Py_GIL_DISABLED)
using SeenView = detail::ViewCore;
#else
using SeenView = detail::ViewCore const&;
#endif
[[nodiscard]] bool is_view(PyObject* object) noexcept;
/// Of an object that is one.
[[nodiscard]] SeenView view_of(PyObject* object) noexcept;
/// Of one that nobody else has, which ends.
[[nodiscard]] detail::ViewCore take_view(PyObject* object) noexcept;
/// What `view.owner` says, a new reference; null without an error if it has none.
PyObject* owner_of_view(PyObject* view);

/// Reads `axis=`: None or null (all), an integer or a tuple of them, as a mask of dimensions. False with the error set;
/// throws `IndexError`, `ValueError`.
bool read_axes(PyObject* object, int ndim, detail::AxisMask& axes);
/// `view[key]`: a view, or one element where an integer is given for each dimension.
PyObject* view_getitem(PyObject* self, PyObject* key);

}  // namespace memarray::python
