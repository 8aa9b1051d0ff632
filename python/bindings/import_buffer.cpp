#include "import_buffer.hpp"

#include "errors.hpp"
#include "gil.hpp"
#include "helpers.hpp"

#include <memarray/array/import_dlpack.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memarray::python {
namespace {

using detail::Block;
using detail::ViewCore;

/// Releases a buffer on whatever thread the last view of it ends; leaks it where there is no interpreter any more.
void drop_buffer(void* object) noexcept {
  auto* const buffer = static_cast<Py_buffer*>(object);
  GilAcquire const gil;
  if (!gil) return;
  ErrorAside const aside;
  PyBuffer_Release(buffer);
  delete buffer;
}

/// The dtype that a format of the struct module means, in this machine's sizes and byte order; null if there is none.
DType const* dtype_of_format(char const* format, Py_ssize_t itemsize) {
  std::string_view text(format ? format : "B");
  bool const little = text.starts_with('<') || text.starts_with('@') || text.starts_with('=');
  if (little) text.remove_prefix(1);
  std::uint8_t code = 0;
  if (text == "?")
    code = kDLBool;
  else if (text == "Zf" || text == "Zd")
    code = kDLComplex;
  else if (text.size() == 1 && std::strchr("bhilqn", text[0]))
    code = kDLInt;
  else if (text.size() == 1 && std::strchr("BHILQNc", text[0]))
    code = kDLUInt;
  else if (text.size() == 1 && std::strchr("efd", text[0]))
    code = kDLFloat;
  else
    return nullptr;
  // The letter says the kind, the item's size how many bits: 'l' has 4 or 8 bytes.
  if (itemsize < 1 || itemsize > 16) return nullptr;
  return find_dtype(DLDataType{code, static_cast<std::uint8_t>(itemsize * 8), 1});
}

bool is_dense(Py_buffer const& buffer) { return PyBuffer_IsContiguous(&buffer, 'C') != 0; }

/// Layout and dtype of a buffer. False with the error set.
bool describe(Py_buffer const& buffer, DType const* wanted, DType const*& dtype, StridedLayout& layout) {
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
      PyErr_Format(PyExc_ValueError, "%zd bytes are no whole number of %s, which have %u bytes", buffer.len,
                   wanted->name, static_cast<unsigned>(wanted->itemsize));
      return false;
    }
    dtype = wanted;
    std::int64_t const count = buffer.len / static_cast<Py_ssize_t>(wanted->itemsize);
    layout = StridedLayout::dense({&count, 1}, wanted->itemsize);
    return true;
  }
  dtype = dtype_of_format(buffer.format, buffer.itemsize);
  if (!dtype) {
    PyErr_Format(PyExc_BufferError, "memarray has no dtype for the buffer format '%s' of %zd bytes",
                 buffer.format ? buffer.format : "B", buffer.itemsize);
    return false;
  }
  if (buffer.ndim < 0 || buffer.ndim > StridedLayout::max_ndim || (buffer.ndim > 0 && !buffer.shape)) {
    PyErr_Format(PyExc_BufferError, "a view has 0 to %d dimensions, and this buffer says %d", StridedLayout::max_ndim,
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

bool read_integers(PyObject* sequence, char const* what, std::vector<std::int64_t>& numbers) {
  if (sequence && PyTuple_Check(sequence)) return read_shape(sequence, numbers);
  PyErr_Format(PyExc_BufferError, "%s of an array interface is a tuple, not %R", what, sequence ? sequence : Py_None);
  return false;
}

/// The address and whether it is read-only.
bool read_data(PyObject* pair, void*& data, bool& writable) {
  if (!pair || !PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 || !PyLong_Check(PyTuple_GET_ITEM(pair, 0))) {
    PyErr_Format(PyExc_BufferError, "'data' of an array interface is (address, read-only), not %R",
                 pair ? pair : Py_None);
    return false;
  }
  data = PyLong_AsVoidPtr(PyTuple_GET_ITEM(pair, 0));
  int const read_only = PyErr_Occurred() ? -1 : PyObject_IsTrue(PyTuple_GET_ITEM(pair, 1));
  writable = read_only == 0;
  return read_only >= 0;
}

/// Which stream the producer works in; null: none that is to be waited for.
bool read_producer_stream(PyObject* object, StreamHandle& stream) {
  if (!object || object == Py_None) return true;
  int overflow = 0;
  long long const number = PyLong_Check(object) ? PyLong_AsLongLongAndOverflow(object, &overflow) : 0;
  if (number <= 0 || overflow != 0) {
    PyErr_Format(PyExc_BufferError,
                 "'stream' of a __cuda_array_interface__ is None, 1, 2 or the address of a stream, not %R", object);
    return false;
  }
  stream = number == 1 ? get_legacy_stream() : StreamChoice::numbered(number).get();
  return true;
}

/// `interface`: a dict that nobody else has.
bool import_interface(PyObject* object, PyObject* interface, bool cuda, ViewCore& view) {
  auto const get = [&](char const* key) { return PyDict_GetItemString(interface, key); };
  if (PyObject* const mask = get("mask"); mask && mask != Py_None) {
    PyErr_SetString(PyExc_BufferError, "memory with a mask cannot be viewed; fill its gaps first");
    return false;
  }
  detail::ForeignMemory memory(nullptr, Device{}, MemoryType::normal, nullptr, {}, false);
  PyObject* const typestr = get("typestr");
  PyObject* const args = PyTuple_Pack(1, typestr ? typestr : Py_None);
  PyObject* const name = args ? call_helper("name_of_typestr", object, args) : nullptr;
  Py_XDECREF(args);
  char const* const word = name ? PyUnicode_AsUTF8(name) : nullptr;
  memory.dtype = word ? find_dtype(std::string_view(word)) : nullptr;
  if (word && !memory.dtype)
    PyErr_Format(PyExc_BufferError, "memarray has no dtype for elements of %s: convert them with .astype() first",
                 word);
  Py_XDECREF(name);
  if (!memory.dtype) return false;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  PyObject* const given_strides = get("strides");
  bool const has_strides = given_strides && given_strides != Py_None;
  if (!read_data(get("data"), memory.data, memory.writable) || !read_integers(get("shape"), "shape", shape) ||
      (has_strides && !read_integers(given_strides, "strides", strides)))
    return false;
  memory.layout = detail::import_layout(
      shape, has_strides ? std::optional(StridedLayout::Extents(strides)) : std::nullopt, memory.dtype->itemsize);
  if (cuda) {
    if (!read_producer_stream(get("stream"), memory.ready_in)) return false;
    memory.type = MemoryType::device;
    memory.device = memory.data ? detail::device_at(memory.data) : Device{kDLCUDA, 0};
  }
  view = detail::import_memory(memory, keeper_of(object));
  return true;
}

bool import_named(PyObject* object, char const* name, bool cuda, ViewCore& view) {
  PyObject* given = nullptr;
  if (!find_attribute(object, name, given)) return false;
  PyObject* const interface = PyDict_Check(given) ? PyDict_Copy(given) : nullptr;
  if (!interface && !PyErr_Occurred()) PyErr_Format(PyExc_BufferError, "an array interface is a dict, not %R", given);
  Py_DECREF(given);
  if (!interface) return false;
  bool imported = false;
  try {
    imported = import_interface(object, interface, cuda, view);
  } catch (...) {
    Py_DECREF(interface);
    throw;
  }
  Py_DECREF(interface);
  return imported;
}

}  // namespace

Block::Keeper keeper_of(PyObject* object) noexcept { return {Py_NewRef(object), &drop_object}; }

bool import_buffer(PyObject* object, DType const* dtype, ViewCore& view) {
  if (!PyObject_CheckBuffer(object)) return false;
  auto buffer = std::make_unique<Py_buffer>();
  // Writable if it can be: whoever is asked for more than it has, refuses.
  if (PyObject_GetBuffer(object, buffer.get(), PyBUF_FULL_RO) != 0) return false;
  detail::ForeignMemory memory(buffer->buf, Device{}, MemoryType::normal, nullptr, {}, buffer->readonly == 0);
  bool described = false;
  try {
    described = describe(*buffer, dtype, memory.dtype, memory.layout);
  } catch (...) {
    drop_buffer(buffer.release());
    throw;
  }
  if (!described) {
    drop_buffer(buffer.release());
    return false;
  }
  view = detail::import_memory(memory, Block::Keeper{buffer.release(), &drop_buffer});
  return true;
}

bool import_array_interface(PyObject* object, ViewCore& view) {
  return import_named(object, "__array_interface__", false, view);
}

bool import_cuda_array_interface(PyObject* object, ViewCore& view) {
  return import_named(object, "__cuda_array_interface__", true, view);
}

}  // namespace memarray::python
