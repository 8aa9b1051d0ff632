#pragma once

#include <memarray/array/view_core.hpp>

#include <Python.h>

namespace memarray::python {

/// The buffer protocol of a view, with its strides: each buffer is an export of its own, until it is released. `view`
/// is part of `self`, or given away.
int view_getbuffer(PyObject* self, detail::ViewCore const& view, Py_buffer* buffer, int flags);
int view_getbuffer(PyObject* self, detail::ViewCore&& view, Py_buffer* buffer, int flags);
void release_buffer(PyObject* self, Py_buffer* buffer);
/// The dict of `__array_interface__`, version 3, also for bfloat16, which NumPy does not know: as plain bytes of its
/// size. Its consumers keep nothing but the object that they asked.
PyObject* describe_memory(detail::ViewCore const& view);
/// That dict (taken over; may be null with an error set) with the stream of `__cuda_array_interface__`, which the
/// consumer waits for.
PyObject* with_stream(PyObject* interface, StreamHandle const& stream);

}  // namespace memarray::python
