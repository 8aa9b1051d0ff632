#include "import/import_buffer.hpp"

#include "array/struct_dtype.hpp"
#include "gil.hpp"
#include "helpers.hpp"
#include "import/memory_keep_alive.hpp"
#include "import/plain_memory.hpp"
#include "py_ref.hpp"
#include "python_errors.hpp"
#include "shown.hpp"

#include <memarray/detail/view/import_dlpack.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memarray::python {
namespace {

using detail::Block;
using detail::ViewCore;

/// Returns the dtype of a `struct` format in native byte order, or null without an error.
DType const* dtype_of_format(char const* format, Py_ssize_t itemsize) {
  std::string_view text(format ? format : "B");
  bool const little = text.starts_with('<') || text.starts_with('@') || text.starts_with('=');
  if (little) text.remove_prefix(1);
  auto const is_one_of = [&](std::string_view codes) {
    return text.size() == 1 && codes.find(text[0]) != std::string_view::npos;
  };
  std::uint8_t const code = text == "?"             ? kDLBool
                            : text.starts_with('Z') ? kDLComplex
                            : is_one_of("bhilqn")   ? kDLInt
                            : is_one_of("cBHILQN")  ? kDLUInt
                                                    : kDLFloat;
  bool fits = false;
  switch (itemsize) {
    case 1: fits = is_one_of("?bBc"); break;
    case 2: fits = is_one_of("hHe"); break;
    case 4: fits = is_one_of("iIflLnN"); break;
    case 8: fits = is_one_of("qQdlLnN") || text == "Zf"; break;
    case 16: fits = text == "Zd"; break;
    default: break;
  }
  return fits ? find_dtype(DLDataType{code, static_cast<std::uint8_t>(itemsize * 8), 1}) : nullptr;
}

/// True for structs, also those that `ctypes` calls bytes of several bytes: packed ones, and unions.
bool holds_structs(Py_buffer const& buffer) {
  std::string_view const format(buffer.format ? buffer.format : "B");
  return format.find("T{") != std::string_view::npos || (format.ends_with('B') && buffer.itemsize > 1);
}

DType const* dtype_of_structs(PyObject* object, Py_buffer const& buffer) {
  PyRef const description = PyRef::steal(call_helper("memarray._numpy", "struct_in_buffer", object));
  DType const* const dtype = description ? dtype_described(description.get()) : nullptr;
  if (!dtype || dtype->itemsize == static_cast<std::uint32_t>(buffer.itemsize)) return dtype;
  PyErr_Format(PyExc_BufferError, "the buffer format '%.80s' is of %u bytes, and its items have %zd", buffer.format,
               static_cast<unsigned>(dtype->itemsize), buffer.itemsize);
  return nullptr;
}

bool is_dense(Py_buffer const& buffer) { return PyBuffer_IsContiguous(&buffer, 'C') != 0; }

bool describe(PyObject* object, Py_buffer const& buffer, DType const* wanted, DType const*& dtype,
              StridedLayout& layout) {
  if (buffer.suboffsets) {
    for (int d = 0; d < buffer.ndim; ++d)
      if (buffer.suboffsets[d] >= 0) {
        PyErr_SetString(PyExc_BufferError, "this buffer is an array of pointers to its rows; copy it first");
        return false;
      }
  }
  if (wanted) {
    if (!is_dense(buffer)) {
      PyErr_SetString(PyExc_BufferError,
                      "the bytes of a buffer that is not C-contiguous cannot be read as another dtype");
      return false;
    }
    if (buffer.len % static_cast<Py_ssize_t>(wanted->itemsize) != 0) {
      PyErr_Format(PyExc_ValueError, "%zd bytes are not a whole number of %s, which have %u bytes", buffer.len,
                   wanted->name, static_cast<unsigned>(wanted->itemsize));
      return false;
    }
    dtype = wanted;
    std::int64_t const count = buffer.len / static_cast<Py_ssize_t>(wanted->itemsize);
    layout = StridedLayout::dense({&count, 1}, wanted->itemsize);
    return true;
  }
  dtype = holds_structs(buffer) ? dtype_of_structs(object, buffer) : dtype_of_format(buffer.format, buffer.itemsize);
  if (!dtype && PyErr_Occurred()) return false;
  if (!dtype) {
    std::string const name = numpy_dtype_shown(object);
    PyErr_Format(PyExc_BufferError, "memarray has no dtype for the buffer format '%.80s' of %zd bytes%s%s%s",
                 buffer.format ? buffer.format : "B", buffer.itemsize, name.empty() ? "" : " (", name.c_str(),
                 name.empty() ? "" : ")");
    return false;
  }
  if (buffer.ndim < 0 || buffer.ndim > StridedLayout::max_ndim || (buffer.ndim > 0 && !buffer.shape)) {
    PyErr_Format(PyExc_BufferError, "a view has 0 to %d dimensions, and this buffer has %d", StridedLayout::max_ndim,
                 buffer.ndim);
    return false;
  }
  auto const ndim = static_cast<std::size_t>(buffer.ndim);
  std::vector<std::int64_t> const shape(buffer.shape, buffer.shape + ndim);
  std::vector<std::int64_t> strides;
  if (buffer.strides) strides.assign(buffer.strides, buffer.strides + ndim);
  layout = detail::import_layout(shape, buffer.strides ? std::optional(StridedLayout::Extents(strides)) : std::nullopt,
                                 dtype->itemsize);
  return true;
}

bool read_tuple(PyObject* sequence, char const* what, IntegersNamed const& names, std::vector<std::int64_t>& numbers) {
  if (sequence && PyTuple_Check(sequence)) return read_integers(sequence, names, numbers);
  PyErr_Format(PyExc_BufferError, "%s of an array interface is a tuple, not %s", what, type_name(sequence).c_str());
  return false;
}

/// A `MemoryKeepAlive` that no block refers to yet.
class NewKeepAlive {
 public:
  NewKeepAlive() : _keep_alive(PyRef::steal(reinterpret_cast<PyObject*>(make_memory_keep_alive()))) {}
  explicit operator bool() const noexcept { return static_cast<bool>(_keep_alive); }
  MemoryKeepAlive* operator->() const noexcept { return reinterpret_cast<MemoryKeepAlive*>(_keep_alive.get()); }
  [[nodiscard]] bool get_buffer(PyObject* object, int flags) const {
    Py_buffer& buffer = (*this)->buffer;
    // If the collector may clear the exporter, a memoryview holds the buffer. Clearing an exporter that is itself a
    // memoryview is unsafe while its buffer is exported.
    if (flags == PyBUF_FULL_RO && PyType_IS_GC(Py_TYPE(object))) {
      PyObject* const own = PyMemoryView_FromObject(object);
      if (!own) return false;
      (*this)->owner = own;
      buffer = *PyMemoryView_GET_BUFFER(own);
      buffer.obj = nullptr;
      return true;
    }
    if (PyObject_GetBuffer(object, &buffer, flags) == 0) return true;
    buffer.obj = nullptr;
    return false;
  }
  /// Keeps two objects alive, and the memoryview of `get_buffer`.
  [[nodiscard]] bool set_owner(PyObject* object, PyObject* other) const {
    PyRef const kept = PyRef::steal(std::exchange((*this)->owner, nullptr));
    (*this)->owner = kept ? PyTuple_Pack(3, object, other, kept.get()) : PyTuple_Pack(2, object, other);
    return (*this)->owner != nullptr;
  }
  [[nodiscard]] detail::Block::KeepAlive release() {
    track_keep_alive(operator->());
    return keep_alive_for_block(reinterpret_cast<MemoryKeepAlive*>(_keep_alive.release()));
  }

 private:
  PyRef _keep_alive;
};

struct InterfaceData {
  void* address = nullptr;
  bool writable = false;
  NewKeepAlive keep_alive{};
};

bool read_address(PyObject* pair, InterfaceData& data) {
  data.address = PyLong_AsVoidPtr(PyTuple_GET_ITEM(pair, 0));
  int const read_only = PyErr_Occurred() ? -1 : PyObject_IsTrue(PyTuple_GET_ITEM(pair, 1));
  data.writable = read_only == 0;
  return read_only >= 0;
}

/// `offset_object`: the bytes before the first element, or null.
bool read_buffer(PyObject* object, PyObject* offset_object, StridedLayout::Span const& span, InterfaceData& data) {
  Py_ssize_t const offset = offset_object ? PyNumber_AsSsize_t(offset_object, PyExc_OverflowError) : 0;
  if (offset == -1 && PyErr_Occurred()) return false;
  if (!data.keep_alive.get_buffer(object, PyBUF_FULL_RO)) {
    // Retry as plain bytes: elements may have no format.
    PyErr_Clear();
    if (!data.keep_alive.get_buffer(object, PyBUF_SIMPLE)) return false;
  }
  Py_buffer const& buffer = data.keep_alive->buffer;
  if (!is_dense(buffer)) {
    PyErr_SetString(PyExc_BufferError,
                    "the buffer of an array interface is one row of bytes, and this is not contiguous");
    return false;
  }
  Py_ssize_t const length = buffer.len;
  bool const fits = offset >= 0 && offset <= length && span.first >= -offset && span.last <= length - offset;
  if (!fits) {
    PyErr_Format(PyExc_BufferError,
                 "the elements of this array interface are bytes %lld to %lld from offset %zd of a buffer of %zd bytes",
                 static_cast<long long>(span.first), static_cast<long long>(span.last), offset, length);
    return false;
  }
  data.address = static_cast<std::byte*>(buffer.buf) + offset;
  data.writable = buffer.readonly == 0;
  return true;
}

bool read_data(PyObject* object, PyObject* interface, StridedLayout::Span const& span, bool cuda, InterfaceData& data) {
  PyObject* const given = PyDict_GetItemString(interface, "data");
  if (given && PyTuple_Check(given) && PyTuple_GET_SIZE(given) == 2 && PyLong_Check(PyTuple_GET_ITEM(given, 0)))
    return read_address(given, data);
  // Without 'data', the object has the buffer protocol.
  PyObject* const exporter = given && given != Py_None ? given : object;
  if (!cuda && PyObject_CheckBuffer(exporter))
    return read_buffer(exporter, PyDict_GetItemString(interface, "offset"), span, data);
  PyErr_Format(PyExc_BufferError, "'data' of an array interface is (address, read-only)%s, not %s",
               cuda ? "" : ", or an object with the buffer protocol", type_name(given).c_str());
  return false;
}

/// Leaves `stream` null if no wait is needed.
bool read_producer_stream(PyObject* object, StreamHandle& stream) {
  if (!object || object == Py_None) return true;
  int overflow = 0;
  long long const number = PyLong_Check(object) ? PyLong_AsLongLongAndOverflow(object, &overflow) : 0;
  if (number <= 0 || overflow != 0) {
    PyErr_Format(PyExc_BufferError,
                 "'stream' of a __cuda_array_interface__ is None, 1, 2 or the address of a stream, not %s",
                 PyLong_Check(object) ? "another integer" : type_name(object).c_str());
    return false;
  }
  stream = number == 1 ? get_legacy_stream() : StreamChoice::numbered(number).get();
  return true;
}

DType const* read_interface_dtype(PyObject* object, PyObject* interface) {
  PyRef const args = PyRef::steal(PyTuple_Pack(1, interface));
  PyRef const description =
      PyRef::steal(args ? call_helper("memarray._numpy", "dtype_of_interface", object, args.get()) : nullptr);
  return description ? dtype_described(description.get()) : nullptr;
}

/// Imports `interface`, a private copy of the attribute `given`.
bool import_interface(PyObject* object, PyObject* given, PyObject* interface, bool cuda, ViewCore& view) {
  auto const get = [&](char const* key) { return PyDict_GetItemString(interface, key); };
  if (PyObject* const mask = get("mask"); mask && mask != Py_None) {
    PyErr_SetString(PyExc_BufferError, "memory with a mask cannot be viewed; fill its gaps first");
    return false;
  }
  DType const* const dtype = read_interface_dtype(object, interface);
  if (!dtype) return false;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  PyObject* const given_strides = get("strides");
  bool const has_strides = given_strides && given_strides != Py_None;
  if (!read_tuple(get("shape"), "shape", shape_names, shape) ||
      (has_strides &&
       !read_tuple(given_strides, "strides", {"strides are", "the strides", "stride", "(32, 8)"}, strides)))
    return false;
  StridedLayout const layout = detail::import_layout(
      shape, has_strides ? std::optional(StridedLayout::Extents(strides)) : std::nullopt, dtype->itemsize);
  InterfaceData data;
  if (!data.keep_alive || !read_data(object, interface, layout.span(dtype->itemsize), cuda, data)) return false;
  // `given` may be the only owner of the memory.
  if (!data.keep_alive.set_owner(object, given)) return false;
  detail::ForeignMemory memory(data.address, Device{}, MemoryType::normal, dtype, layout, data.writable);
  if (cuda) {
    if (!read_producer_stream(get("stream"), memory.ready_in)) return false;
    memory.type = MemoryType::device;
    memory.device = memory.data ? detail::device_at(memory.data) : Device{kDLCUDA, 0};
  }
  view = detail::import_memory(memory, data.keep_alive.release());
  return true;
}

bool import_named(PyObject* object, char const* name, bool cuda, ViewCore& view) {
  PyRef given;
  if (!find_attribute(object, name, given)) return false;
  if (!PyDict_Check(given.get())) {
    PyErr_Format(PyExc_BufferError, "%s is a dict, not %s", name, type_name(given.get()).c_str());
    return false;
  }
  PyRef const interface = PyRef::steal(PyDict_Copy(given.get()));
  return interface && import_interface(object, given.get(), interface.get(), cuda, view);
}

void drop_buffer(void* object) noexcept {
  auto* const buffer = static_cast<Py_buffer*>(object);
  GilAcquire const gil;
  if (!gil) return;
  ErrorAside const aside;
  PyBuffer_Release(buffer);
  delete buffer;
}

/// `import_buffer` for an object that cannot refer to the view.
bool import_plain_buffer(PyObject* object, DType const* dtype, ViewCore& view) {
  auto owned = std::make_unique<Py_buffer>();
  // Not PyBUF_WRITABLE, which exporters may refuse: they mark writable memory unasked.
  if (PyObject_GetBuffer(object, owned.get(), PyBUF_FULL_RO) != 0) return explain_missing_buffer(object), false;
  Py_buffer const& buffer = *owned;
  detail::KeepAliveGuard keep_alive({owned.release(), &drop_buffer});
  detail::ForeignMemory memory(buffer.buf, Device{}, MemoryType::normal, nullptr, {}, buffer.readonly == 0);
  if (!describe(object, buffer, dtype, memory.dtype, memory.layout)) return false;
  view = detail::import_memory(memory, keep_alive.release());
  return true;
}

}  // namespace

Block::KeepAlive keep_alive_of(PyObject* object) noexcept { return {Py_NewRef(object), &drop_object}; }

bool import_collected(PyObject* object, detail::ForeignMemory const& memory, ViewCore& view) {
  NewKeepAlive keep_alive;
  if (!keep_alive) return false;
  keep_alive->owner = Py_NewRef(object);
  view = detail::import_memory(memory, keep_alive.release());
  return true;
}

bool import_buffer(PyObject* object, DType const* dtype, ViewCore& view) {
  if (!PyObject_CheckBuffer(object)) return false;
  if (!PyType_IS_GC(Py_TYPE(object))) return import_plain_buffer(object, dtype, view);
  NewKeepAlive keep_alive;
  if (!keep_alive) return false;
  if (!keep_alive.get_buffer(object, PyBUF_FULL_RO)) return explain_missing_buffer(object), false;
  Py_buffer const& buffer = keep_alive->buffer;
  detail::ForeignMemory memory(buffer.buf, Device{}, MemoryType::normal, nullptr, {}, buffer.readonly == 0);
  if (!describe(object, buffer, dtype, memory.dtype, memory.layout)) return false;
  view = detail::import_memory(memory, keep_alive.release());
  return true;
}

bool import_array_interface(PyObject* object, ViewCore& view) {
  return import_named(object, "__array_interface__", false, view);
}

bool import_cuda_array_interface(PyObject* object, ViewCore& view) {
  return import_named(object, "__cuda_array_interface__", true, view);
}

}  // namespace memarray::python
