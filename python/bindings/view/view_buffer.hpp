#pragma once

#include "array/struct_dtype.hpp"

#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace memarray::python {

/// True if the view satisfies these `PyBUF_…` flags; else raises `BufferError`.
bool may_have_buffer(detail::ViewCore const& view, int flags);

/// Gives dense memory NumPy's strides in dimensions of extent 0 or 1. `buffer->internal` then owns them, a
/// `Py_ssize_t[]`. Throws `std::bad_alloc`.
void settle_strides(StridedLayout const& layout, Py_buffer* buffer, int flags);

/// Fills in a buffer of host memory (PEP 3118), which keeps only `self` alive. Shape and strides belong to `view`, even
/// if closed, or to `buffer->internal`. Throws `ValueError` (closed), `std::bad_alloc`.
inline bool describe_buffer(PyObject* self, detail::ViewCore const& view, Py_buffer* buffer, int flags) {
  static_assert(std::is_same_v<Py_ssize_t, std::int64_t>);
  DType const& dtype = view.dtype();
  StridedLayout const& layout = view.layout();
  // Fast path: any dtype with a format satisfies `PyBUF_FULL_RO`, the usual request.
  if ((flags != PyBUF_FULL_RO || *buffer_format(dtype) == '\0') && !may_have_buffer(view, flags)) return false;
  bool const has_shape = (flags & PyBUF_ND) == PyBUF_ND;
  bool const has_extents = has_shape && layout.ndim() > 0;
  bool const has_strides = has_extents && (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  buffer->buf = view.data();  // throws if closed
  buffer->len = static_cast<Py_ssize_t>(view.bytes());
  buffer->readonly = !view.writable();
  buffer->itemsize = static_cast<Py_ssize_t>(dtype.itemsize);
  buffer->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(buffer_format(dtype)) : nullptr;
  // A buffer without a shape is one row of bytes.
  buffer->ndim = has_shape ? layout.ndim() : 1;
  buffer->shape = has_extents ? const_cast<Py_ssize_t*>(layout.shape().data()) : nullptr;
  buffer->strides = has_strides ? const_cast<Py_ssize_t*>(layout.strides().data()) : nullptr;
  buffer->suboffsets = nullptr;
  buffer->internal = nullptr;
  if (has_strides && std::ranges::any_of(layout.shape(), [](std::int64_t extent) { return extent <= 1; }))
    settle_strides(layout, buffer, flags);
  buffer->obj = Py_NewRef(self);
  return true;
}

/// Fills in a buffer that holds its own export of `view`, until `release_buffer`.
int view_getbuffer(PyObject* self, detail::ViewCore&& view, Py_buffer* buffer, int flags);
void release_buffer(PyObject* self, Py_buffer* buffer);
/// Returns the dict of `__array_interface__`, version 3, which keeps nothing alive; bfloat16 as plain bytes.
PyObject* describe_memory(detail::ViewCore const& view);
/// Adds the `stream` of `__cuda_array_interface__`, for which the consumer waits. Takes over the dict, which may be
/// null.
PyObject* with_stream(PyObject* interface, StreamHandle const& stream);

}  // namespace memarray::python
