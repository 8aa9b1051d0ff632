#include "view_buffer.hpp"

#include "buffer.hpp"

#include <memory>
#include <utility>

namespace memarray::python {
namespace {

// What flags say of an order, beside that there are strides.
constexpr int c_order = PyBUF_C_CONTIGUOUS & ~PyBUF_STRIDES;
constexpr int f_order = PyBUF_F_CONTIGUOUS & ~PyBUF_STRIDES;
constexpr int one_order = PyBUF_ANY_CONTIGUOUS & ~PyBUF_STRIDES;

/// Why the consumer cannot have it so, or null.
char const* refusal(detail::ViewCore const& view, int flags) {
  auto const asks = [&](int what) { return (flags & what) == what; };
  StridedLayout const& layout = view.layout();
  std::size_t const itemsize = view.dtype().itemsize;
  if (asks(PyBUF_WRITABLE) && !view.writable()) return "this view is read-only: copy() it, or view a write lease";
  if (asks(PyBUF_FORMAT) && view.dtype().format[0] == '\0')
    return "the buffer protocol has no format for bfloat16; use DLPack, or np.asarray with ml_dtypes installed";
  // Most ask for any strides.
  if (asks(PyBUF_STRIDES) && (flags & (c_order | f_order | one_order)) == 0) return nullptr;
  auto const c = [&] { return layout.is_contiguous(itemsize); };
  auto const fortran = [&] { return layout.is_fortran_contiguous(itemsize); };
  if (asks(PyBUF_ANY_CONTIGUOUS)) return c() || fortran() ? nullptr : "the view is not contiguous: copy() it first";
  if (asks(PyBUF_F_CONTIGUOUS)) return fortran() ? nullptr : "the view is not Fortran-contiguous";
  if (asks(PyBUF_C_CONTIGUOUS)) return c() ? nullptr : "the view is not C-contiguous: copy() it first";
  // Without strides the consumer takes it for dense.
  if (!asks(PyBUF_STRIDES) && !c()) return "the view is not C-contiguous, and was asked for without strides: copy() it";
  return nullptr;
}

}  // namespace

bool may_have_buffer(detail::ViewCore const& view, int flags) {
  char const* const why = refusal(view, flags);
  if (why) PyErr_SetString(PyExc_BufferError, why);
  return !why;
}

int view_getbuffer(PyObject* self, detail::ViewCore&& view, Py_buffer* buffer, int flags) {
  auto kept = std::make_unique<detail::ViewCore>(std::move(view));
  if (!describe_buffer(self, *kept, buffer, flags)) return -1;
  buffer->internal = kept.release();
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
  delete static_cast<detail::ViewCore*>(std::exchange(buffer->internal, nullptr));
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
