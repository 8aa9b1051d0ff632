#include "view_buffer.hpp"

#include "buffer.hpp"

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace memarray::python {
namespace {

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

// What a buffer keeps is told by the first bits of its pointer, as nothing that a consumer can change says so: a block
// with an export, writable or not, or a view.
constexpr std::uintptr_t writable_bit = 1;
constexpr std::uintptr_t view_bit = 2;

/// All but what is kept. What describes the memory lies in `view`; closing it does not change that.
bool fill_buffer(PyObject* self, detail::ViewCore const& view, Py_buffer* buffer, int flags) {
  static_assert(std::is_same_v<Py_ssize_t, std::int64_t>);
  view.check_open();
  if (char const* const why = refusal(view, flags)) {
    PyErr_SetString(PyExc_BufferError, why);
    return false;
  }
  StridedLayout const& layout = view.layout();
  bool const strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  buffer->buf = view.data();
  buffer->len = static_cast<Py_ssize_t>(view.bytes());
  buffer->readonly = !view.writable();
  buffer->itemsize = static_cast<Py_ssize_t>(view.dtype().itemsize);
  buffer->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(view.dtype().format) : nullptr;
  buffer->ndim = layout.ndim();
  buffer->shape = (flags & PyBUF_ND) ? const_cast<Py_ssize_t*>(layout.shape().data()) : nullptr;
  buffer->strides = strided ? const_cast<Py_ssize_t*>(layout.strides().data()) : nullptr;
  buffer->suboffsets = nullptr;
  buffer->obj = Py_NewRef(self);
  return true;
}

}  // namespace

int view_getbuffer(PyObject* self, detail::ViewCore const& view, Py_buffer* buffer, int flags) {
  view.check_host();
  detail::BlockExport memory = view.memory();
  if (!fill_buffer(self, view, buffer, flags)) return -1;
  std::uintptr_t const bit = memory.writable() ? writable_bit : 0;
  buffer->internal = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory.release()) | bit);
  return 0;
}

int view_getbuffer(PyObject* self, detail::ViewCore&& view, Py_buffer* buffer, int flags) {
  auto kept = std::make_unique<detail::ViewCore>(std::move(view));
  if (!fill_buffer(self, *kept, buffer, flags)) return -1;
  buffer->internal = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(kept.release()) | view_bit);
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
  auto const internal = reinterpret_cast<std::uintptr_t>(std::exchange(buffer->internal, nullptr));
  void* const kept = reinterpret_cast<void*>(internal & ~(writable_bit | view_bit));
  if ((internal & view_bit) != 0)
    delete static_cast<detail::ViewCore*>(kept);
  else if (kept)
    static_cast<detail::Block*>(kept)->drop_export((internal & writable_bit) != 0);
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
