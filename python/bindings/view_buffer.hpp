#pragma once

#include <memarray/array/view_core.hpp>

#include <Python.h>

#include <cstdint>
#include <type_traits>

namespace memarray::python {

/// Whether a consumer that asks with these flags can have the view as it is. False with the Python error set.
bool may_have_buffer(detail::ViewCore const& view, int flags);

/// Fills a buffer of host memory, with its strides; what describes it lies in `view`, which closing does not change. It
/// keeps `self` and nothing else. False with the Python error set; throws.
inline bool describe_buffer(PyObject* self, detail::ViewCore const& view, Py_buffer* buffer, int flags) {
  static_assert(std::is_same_v<Py_ssize_t, std::int64_t>);
  DType const& dtype = view.dtype();
  StridedLayout const& layout = view.layout();
  // What np.asarray and memoryview ask for is nearly always to be had.
  if ((flags != PyBUF_FULL_RO || dtype.format[0] == '\0') && !may_have_buffer(view, flags)) return false;
  bool const strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  buffer->buf = view.data();  // throws if it is closed
  buffer->len = static_cast<Py_ssize_t>(view.bytes());
  buffer->readonly = !view.writable();
  buffer->itemsize = static_cast<Py_ssize_t>(dtype.itemsize);
  buffer->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(dtype.format) : nullptr;
  buffer->ndim = layout.ndim();
  buffer->shape = (flags & PyBUF_ND) ? const_cast<Py_ssize_t*>(layout.shape().data()) : nullptr;
  buffer->strides = strided ? const_cast<Py_ssize_t*>(layout.strides().data()) : nullptr;
  buffer->suboffsets = nullptr;
  buffer->internal = nullptr;
  buffer->obj = Py_NewRef(self);
  return true;
}

/// The same of a view that is given away: an export of its own, until the buffer is released.
int view_getbuffer(PyObject* self, detail::ViewCore&& view, Py_buffer* buffer, int flags);
void release_buffer(PyObject* self, Py_buffer* buffer);
/// The dict of `__array_interface__`, version 3, also for bfloat16, which NumPy does not know: as plain bytes of its
/// size. Its consumers keep nothing but the object that they asked.
PyObject* describe_memory(detail::ViewCore const& view);
/// That dict (taken over; may be null with an error set) with the stream of `__cuda_array_interface__`, which the
/// consumer waits for.
PyObject* with_stream(PyObject* interface, StreamHandle const& stream);

}  // namespace memarray::python
