#pragma once

#include "array/struct_dtype.hpp"

#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace memarray::python {

/// Whether a consumer that asks with these flags can have the view as it is. False with the Python error set.
bool may_have_buffer(detail::ViewCore const& view, int flags);

/// Gives a buffer of dense memory the strides that NumPy gives where an extent is 1 or 0. `buffer->internal` owns them
/// then: an array of `Py_ssize_t`, for `delete[]`. Throws `std::bad_alloc`.
void settle_strides(StridedLayout const& layout, Py_buffer* buffer, int flags);

/// Fills in a buffer of host memory. Shape and strides are those of `view`, which closing does not change, or lie in
/// `buffer->internal` (see `settle_strides`). It keeps `self` and nothing else. False with the Python error set;
/// throws.
inline bool describe_buffer(PyObject* self, detail::ViewCore const& view, Py_buffer* buffer, int flags) {
  static_assert(std::is_same_v<Py_ssize_t, std::int64_t>);
  DType const& dtype = view.dtype();
  StridedLayout const& layout = view.layout();
  // What np.asarray and memoryview ask for is nearly always to be had.
  if ((flags != PyBUF_FULL_RO || *buffer_format(dtype) == '\0') && !may_have_buffer(view, flags)) return false;
  bool const has_shape = (flags & PyBUF_ND) == PyBUF_ND;
  bool const has_extents = has_shape && layout.ndim() > 0;
  bool const has_strides = has_extents && (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  buffer->buf = view.data();  // throws if it is closed
  buffer->len = static_cast<Py_ssize_t>(view.bytes());
  buffer->readonly = !view.writable();
  buffer->itemsize = static_cast<Py_ssize_t>(dtype.itemsize);
  buffer->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(buffer_format(dtype)) : nullptr;
  // Without a shape it is one row of bytes.
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

/// The same of a view that is given away: an export of its own, until the buffer is released.
int view_getbuffer(PyObject* self, detail::ViewCore&& view, Py_buffer* buffer, int flags);
/// Releases a buffer that `view_getbuffer` filled in.
void release_buffer(PyObject* self, Py_buffer* buffer);
/// The dict of `__array_interface__`, version 3, also for bfloat16, which NumPy does not know: as plain bytes of its
/// size. Its consumers keep nothing but the object that they asked.
PyObject* describe_memory(detail::ViewCore const& view);
/// That dict (taken over; may be null with an error set) with the stream of `__cuda_array_interface__`, which the
/// consumer waits for.
PyObject* with_stream(PyObject* interface, StreamHandle const& stream);

}  // namespace memarray::python
