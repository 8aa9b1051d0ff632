#include "view/view_buffer.hpp"

#include "export/buffer.hpp"
#include "py_ref.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace memarray::python {
namespace {

// The bits of an order, without those of strides.
constexpr int c_order = PyBUF_C_CONTIGUOUS & ~PyBUF_STRIDES;
constexpr int f_order = PyBUF_F_CONTIGUOUS & ~PyBUF_STRIDES;
constexpr int one_order = PyBUF_ANY_CONTIGUOUS & ~PyBUF_STRIDES;

/// Returns why a buffer with these flags is refused, or null.
char const* refusal(detail::ViewCore const& view, int flags) {
  auto const asks = [&](int what) { return (flags & what) == what; };
  StridedLayout const& layout = view.layout();
  std::size_t const itemsize = view.dtype().itemsize;
  if (asks(PyBUF_WRITABLE) && !view.writable()) return "this view is read-only: copy() it, or view a write lease";
  if (asks(PyBUF_FORMAT) && !asks(PyBUF_ND))
    return "a buffer without a shape has no format, as it is plain bytes: ask for PyBUF_ND | PyBUF_FORMAT";
  if (asks(PyBUF_FORMAT) && *buffer_format(view.dtype()) == '\0')
    return view.dtype().is_struct()
               ? "the buffer protocol has no format for a struct without fields: name them with MEMARRAY_FIELDS, or "
                 "use np.asarray"
               : "the buffer protocol has no format for bfloat16; use DLPack, or np.asarray with ml_dtypes installed";
  if (asks(PyBUF_STRIDES) && (flags & (c_order | f_order | one_order)) == 0) return nullptr;
  auto const c = [&] { return layout.is_contiguous(itemsize); };
  auto const fortran = [&] { return layout.is_fortran_contiguous(itemsize); };
  if (asks(PyBUF_C_CONTIGUOUS) && !c()) return "the view is not C-contiguous: copy() it first";
  if (asks(PyBUF_F_CONTIGUOUS) && !fortran()) return "the view is not Fortran-contiguous: copy() it first";
  if (asks(PyBUF_ANY_CONTIGUOUS) && !c() && !fortran()) return "the view is not contiguous: copy() it first";
  // A consumer without strides assumes dense memory.
  if (!asks(PyBUF_STRIDES) && !c()) return "the view is not C-contiguous, and was requested without strides: copy() it";
  return nullptr;
}

/// A buffer's view and strides, in `Py_buffer::internal` until its release.
struct KeptBuffer {
  detail::ViewCore view;
  std::unique_ptr<Py_ssize_t[]> strides;
};

}  // namespace

void settle_strides(StridedLayout const& layout, Py_buffer* buffer, int flags) {
  // Dense layouts differ only in the strides of dimensions with at most one element.
  if (std::ranges::none_of(layout.shape(), [](std::int64_t extent) { return extent <= 1; })) return;
  auto const itemsize = static_cast<std::size_t>(buffer->itemsize);
  bool const c = layout.is_contiguous(itemsize);
  bool const fortran = layout.is_fortran_contiguous(itemsize);
  if (!c && !fortran) return;
  // A single row or column is dense in both orders: the request decides.
  bool const as_fortran = fortran && (!c || (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS);
  auto const ndim = static_cast<std::size_t>(layout.ndim());
  auto strides = std::make_unique<Py_ssize_t[]>(ndim);
  Py_ssize_t stride = buffer->itemsize;
  for (std::size_t i = 0; i < ndim; ++i) {
    std::size_t const d = as_fortran ? i : ndim - 1 - i;
    strides[d] = stride;
    // The product may overflow if an extent is 0.
    if (__builtin_mul_overflow(stride, layout.shape()[d], &stride)) stride = 0;
  }
  if (std::ranges::equal(layout.strides(), std::span(strides.get(), ndim))) return;
  buffer->strides = strides.get();
  buffer->internal = strides.release();
}

bool may_have_buffer(detail::ViewCore const& view, int flags) {
  char const* const why = refusal(view, flags);
  if (why) PyErr_SetString(PyExc_BufferError, why);
  return !why;
}

int view_getbuffer(PyObject* self, detail::ViewCore&& view, Py_buffer* buffer, int flags) {
  auto kept = std::make_unique<KeptBuffer>(KeptBuffer{std::move(view), nullptr});
  if (!describe_buffer(self, kept->view, buffer, flags)) return -1;
  kept->strides.reset(static_cast<Py_ssize_t*>(buffer->internal));
  buffer->internal = kept.release();
  return 0;
}

PyObject* with_stream(PyObject* interface, StreamHandle const& stream) {
  PyRef dict = PyRef::steal(interface);
  if (!dict) return nullptr;
  // The protocol forbids 0 as ambiguous.
  std::intptr_t const name = as_intptr(stream);
  PyRef const number = PyRef::steal(PyLong_FromSsize_t(name == 0 ? 1 : name));
  if (!number || PyDict_SetItemString(dict.get(), "stream", number.get()) != 0) return nullptr;
  return dict.release();
}

void release_buffer(PyObject*, Py_buffer* buffer) {
  delete static_cast<KeptBuffer*>(std::exchange(buffer->internal, nullptr));
}

PyObject* describe_memory(detail::ViewCore const& view) {
  StridedLayout const& layout = view.layout();
  char const* const typestr = view.dtype().typestr[0] != '\0' ? view.dtype().typestr : "|V2";
  PyRef shape = PyRef::steal(to_tuple(layout.shape().data(), layout.ndim()));
  PyRef strides =
      view.is_contiguous() ? PyRef::borrow(Py_None) : PyRef::steal(to_tuple(layout.strides().data(), layout.ndim()));
  if (!shape || !strides) return nullptr;
  // The CUDA array interface requires the address 0 without elements.
  bool const has_address = !view.on_device() || layout.size() != 0;
  auto const address = has_address ? reinterpret_cast<std::uintptr_t>(view.data()) : 0;
  PyRef interface =
      PyRef::steal(Py_BuildValue("{s:(KO),s:N,s:N,s:s,s:i}", "data", static_cast<unsigned long long>(address),
                                 view.writable() ? Py_False : Py_True, "strides", strides.release(), "shape",
                                 shape.release(), "typestr", typestr, "version", 3));
  if (!interface || !view.dtype().fields) return interface.release();
  PyRef const descr = PyRef::steal(descr_of(*view.dtype().fields));
  if (!descr || PyDict_SetItemString(interface.get(), "descr", descr.get()) != 0) return nullptr;
  return interface.release();
}

}  // namespace memarray::python
