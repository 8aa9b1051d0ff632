#include "view_buffer.hpp"

#include "buffer.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

namespace memarray::python {
namespace {

/// What a buffer points into until it is released.
struct BufferBox {
  detail::BlockExport memory;
  std::array<Py_ssize_t, StridedLayout::max_ndim> shape{};
  std::array<Py_ssize_t, StridedLayout::max_ndim> strides{};
  char format[sizeof(DType::format)]{};
};

/// Why the consumer cannot have it so, or null.
char const* refusal(detail::ViewCore const& view, int flags) {
  auto const asks = [&](int what) { return (flags & what) == what; };
  StridedLayout const& layout = view.layout();
  std::size_t const itemsize = view.dtype().itemsize;
  if (asks(PyBUF_WRITABLE) && !view.writable()) return "this view is read-only: copy() it, or view a write lease";
  if (asks(PyBUF_FORMAT) && view.dtype().format[0] == '\0')
    return "the buffer protocol has no format for bfloat16; use DLPack, or np.asarray with ml_dtypes installed";
  bool const c = layout.is_contiguous(itemsize);
  bool const fortran = layout.is_fortran_contiguous(itemsize);
  if (asks(PyBUF_ANY_CONTIGUOUS)) return c || fortran ? nullptr : "the view is not contiguous: copy() it first";
  if (asks(PyBUF_F_CONTIGUOUS)) return fortran ? nullptr : "the view is not Fortran-contiguous";
  if (asks(PyBUF_C_CONTIGUOUS)) return c ? nullptr : "the view is not C-contiguous: copy() it first";
  // Without strides the consumer takes it for dense.
  if (!asks(PyBUF_STRIDES) && !c) return "the view is not C-contiguous, and was asked for without strides: copy() it";
  return nullptr;
}

}  // namespace

int view_getbuffer(PyObject* self, detail::ViewCore const& view, Py_buffer* buffer, int flags) {
  view.check_host();
  if (char const* const why = refusal(view, flags)) {
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
  }
  StridedLayout const& layout = view.layout();
  auto box = std::make_unique<BufferBox>();
  box->memory = view.memory();
  std::memcpy(box->format, view.dtype().format, sizeof(box->format));
  for (int d = 0; d < layout.ndim(); ++d) {
    box->shape[static_cast<std::size_t>(d)] = layout.extent(d);
    box->strides[static_cast<std::size_t>(d)] = layout.stride(d);
  }
  buffer->buf = view.data();
  buffer->obj = Py_NewRef(self);
  buffer->len = static_cast<Py_ssize_t>(view.bytes());
  buffer->readonly = !view.writable();
  buffer->itemsize = static_cast<Py_ssize_t>(view.dtype().itemsize);
  buffer->format = (flags & PyBUF_FORMAT) ? box->format : nullptr;
  buffer->ndim = layout.ndim();
  buffer->shape = (flags & PyBUF_ND) ? box->shape.data() : nullptr;
  buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? box->strides.data() : nullptr;
  buffer->suboffsets = nullptr;
  buffer->internal = box.release();
  return 0;
}

PyObject* with_stream(PyObject* interface, StreamHandle const& stream) {
  // 0 would not say which of the default streams it is.
  std::intptr_t const name = as_intptr(stream);
  PyObject* const number = interface ? PyLong_FromSsize_t(name == 0 ? 1 : name) : nullptr;
  int const set = number ? PyDict_SetItemString(interface, "stream", number) : -1;
  Py_XDECREF(number);
  if (set == 0) return interface;
  Py_XDECREF(interface);
  return nullptr;
}

void release_buffer(PyObject*, Py_buffer* buffer) {
  std::unique_ptr<BufferBox> const box(static_cast<BufferBox*>(buffer->internal));
  buffer->internal = nullptr;
}

PyObject* describe_memory(detail::ViewCore const& view) {
  StridedLayout const& layout = view.layout();
  char const* const typestr = view.dtype().typestr[0] != '\0' ? view.dtype().typestr : "|V2";
  PyObject* const shape = to_tuple(layout.shape().data(), layout.ndim());
  PyObject* const strides = !shape                 ? nullptr
                            : view.is_contiguous() ? Py_NewRef(Py_None)
                                                   : to_tuple(layout.strides().data(), layout.ndim());
  if (!strides) {
    Py_XDECREF(shape);
    return nullptr;
  }
  return Py_BuildValue("{s:(KO),s:N,s:N,s:s,s:i}", "data",
                       static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(view.data())),
                       view.writable() ? Py_False : Py_True, "strides", strides, "shape", shape, "typestr", typestr,
                       "version", 3);
}

}  // namespace memarray::python
