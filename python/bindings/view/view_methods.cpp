#include "array/array_type.hpp"
#include "export/dlpack_capsule.hpp"
#include "helpers.hpp"
#include "import/view_import.hpp"
#include "lease/lease_type.hpp"
#include "made_here.hpp"
#include "py_ref.hpp"
#include "python_errors.hpp"
#include "signature.hpp"
#include "view/elements.hpp"
#include "view/view_numbers.hpp"
#include "view/view_object.hpp"
#include "view/view_reduce.hpp"

#include <memarray/base/errors.hpp>

#include <array>
#include <climits>
#include <optional>
#include <utility>
#include <vector>

namespace memarray::python {
namespace {

using detail::ViewCore;

template <class Body>
PyObject* returning_view(PyObject* self, Body const& body) {
  return guarded([&] { return derived(self, body(core_of(self))); });
}

template <class Body>
PyObject* doing(PyObject* self, Body const& body) {
  return guarded([&] {
    body(core_of(self));
    return Py_NewRef(Py_None);
  });
}

PyObject* close(PyObject* self, PyObject* const*, Py_ssize_t, PyObject*) {
  close_view(self);
  Py_RETURN_NONE;
}

PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    core_of(self).check_open();
    return Py_NewRef(self);
  });
}

PyObject* is_contiguous(PyObject* self, PyObject*) { return PyBool_FromLong(core_of(self).is_contiguous()); }
PyObject* copy(PyObject* self, PyObject*) {
  return guarded([&] { return make_view(core_of(self).copy(), nullptr); });
}

PyObject* deep_copy(PyObject* self, PyObject*) { return copy(self, nullptr); }

PyObject* ensure_contiguous(PyObject* self, PyObject*) {
  return guarded([&] {
    ViewCore const& core = core_of(self);
    core.check_open();
    return core.is_contiguous() ? Py_NewRef(self) : make_view(core.ensure_contiguous(), nullptr);
  });
}

/// Numbers are given one by one, or as one sequence.
PyObject* list_in(PyObject* args) {
  bool const is_sequence = PyTuple_GET_SIZE(args) == 1 && !PyIndex_Check(PyTuple_GET_ITEM(args, 0));
  return is_sequence ? PyTuple_GET_ITEM(args, 0) : args;
}

PyObject* transpose(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* const axes = list_in(args);
    std::vector<std::int64_t> given;
    if (axes != Py_None && !read_shape(axes, given)) return nullptr;
    std::vector<int> order;
    order.reserve(given.size());
    for (std::int64_t const axis : given) order.push_back(std::in_range<int>(axis) ? static_cast<int>(axis) : INT_MAX);
    ViewCore const& core = core_of(self);
    StridedLayout layout = core.layout();
    if (!order.empty() || (axes != args && axes != Py_None && layout.ndim() > 0))
      layout.transpose(order.empty() ? std::vector<int>{INT_MAX} : order);
    else
      layout.transpose();
    return derived(self, core.at(layout, 0));
  });
}

/// A shape as one argument or as several.
bool read_shape_arguments(PyObject* args, std::vector<std::int64_t>& shape) { return read_shape(list_in(args), shape); }

PyObject* reshape(PyObject* self, PyObject* args) {
  std::vector<std::int64_t> shape;
  if (!read_shape_arguments(args, shape)) return nullptr;
  return returning_view(self, [&](ViewCore const& core) { return core.reshaped(shape); });
}

PyObject* broadcast_to(PyObject* self, PyObject* args) {
  std::vector<std::int64_t> shape;
  if (!read_shape_arguments(args, shape)) return nullptr;
  return returning_view(self, [&](ViewCore const& core) { return core.broadcast_to(shape); });
}

PyObject* cast(PyObject* self, PyObject* wanted) {
  return guarded([&]() -> PyObject* {
    DType const* const dtype = read_dtype(wanted);
    return dtype ? make_view(core_of(self).cast(*dtype), nullptr) : nullptr;
  });
}

PyObject* fill(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    std::vector<std::byte> element;
    if (!write_any_element(self, dtype_of_view(self), value, element)) return nullptr;
    core_of(self).fill(element.data());
    return Py_NewRef(Py_None);
  });
}

PyObject* add_index(PyObject* self, PyObject*) {
  return doing(self, [](ViewCore const& core) { core.add_index(); });
}

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] {
    ViewCore const& core = core_of(self);
    if (core.layout().size() != 1)
      throw ValueError("item() is of a view with one element, not of a " + core.describe());
    return first_element(core);
  });
}

Signature<2> to_device_signature("to_device", {"device", "stream"}, 2);

PyObject* to_device(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  std::array<PyObject*, 2> slots{};
  if (!to_device_signature.parse(args, given, keywords, slots)) return nullptr;
  auto const [name, stream] = slots;
  if (!name || name == Py_None) {
    PyErr_SetString(PyExc_TypeError, "to_device takes a device: view.to_device('cpu')");
    return nullptr;
  }
  std::optional<Device> device;
  StreamChoice choice;
  if (!read_device(name, device) || (stream && !read_stream(stream, choice))) return nullptr;
  return guarded([&, stream = stream] {
    MadeHere const site;
    ViewCore const& core = core_of(self);
    core.check_open();
    bool const named = stream && stream != Py_None;
    bool const is_there = *device == core.device();
    ViewCore result = core.to_device(*device, named ? &choice : nullptr);
    if (is_there && !named) return Py_NewRef(self);
    return is_there ? derived(self, std::move(result)) : make_view(std::move(result), nullptr);
  });
}

PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  DLPackRequest request;
  if (!parse_dlpack_request(args, given, keywords, request)) return nullptr;
  return guarded([&] {
    MadeHere const site;
    return make_capsule(core_of(self), request);
  });
}

PyObject* dlpack_device_of(PyObject* self, PyObject*) {
  return guarded([&] {
    ViewCore const& core = core_of(self);
    core.check_open();
    return dlpack_device(core.on_device() ? core.block().lent_device() : Device{});
  });
}

PyObject* as_numpy(PyObject* self, PyObject* args, PyObject* keywords) {
  return call_helper("memarray._numpy", "view_to_numpy", self, args, keywords);
}

PyObject* reduce_ex(PyObject* self, PyObject* protocol) {
  PyRef const args = PyRef::steal(PyTuple_Pack(1, protocol));
  return args ? call_helper("memarray._pickle", "reduce_view", self, args.get()) : nullptr;
}

}  // namespace

bool init_view_methods() { return to_device_signature.intern() && init_view_numbers(); }

PyObject* first_element(ViewCore const& view) {
  if (!view.on_device()) return read_element(view.dtype(), view.data());
  std::vector<std::byte> element(view.dtype().itemsize);
  view.read_element(element.data());
  return read_element(view.dtype(), element.data());
}

PyMethodDef view_methods[] = {
    {"from_numpy", as_method(from_numpy), METH_FASTCALL | METH_KEYWORDS | METH_STATIC,
     "from_numpy(array, /, device=None)\n--\n\nA view of a NumPy array, whatever its strides; read-only where the "
     "array is. The array is kept. device: a copy on that device, as to_device makes and reports it; None: no copy. "
     "TypeError for anything else; BufferError for a dtype that memarray lacks or elements that are not "
     "aligned."},
    {"from_buffer", as_method(from_buffer), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "from_buffer(obj, dtype=None, device=None)\n--\n\nA view of what offers the buffer protocol: bytes, bytearray, "
     "memoryview, "
     "array, "
     "mmap. dtype: how its bytes are to be read, as one dimension (None: as they say themselves). The buffer stays "
     "locked "
     "as long as a view of it lives. device: a copy on that device, as to_device makes and reports it; None: no "
     "copy."},
    {"from_dlpack", as_method(from_dlpack), METH_FASTCALL | METH_KEYWORDS | METH_STATIC,
     "from_dlpack(obj, /, *, copy=None)\n--\n\nA view of another library's memory, over DLPack (a capsule, or an "
     "object "
     "with __dlpack__); read-only where it is lent so. copy=True: a copy of one's own; False: not even by the "
     "producer, "
     "where it knows the word. Memory of a device comes after what the producer's stream has now, managed memory waits "
     "for it. BufferError for what cannot be viewed."},
    {"close", as_method(close), METH_FASTCALL | METH_KEYWORDS,
     "close($self, /)\n--\n\nLets go of the memory; views and tensors made of it keep it. Harmless twice."},
    {"__enter__", enter, METH_NOARGS, "__enter__($self, /)\n--\n\nThe view itself, for a 'with' block that closes it."},
    {"__exit__", as_method(close), METH_FASTCALL | METH_KEYWORDS, "__exit__($self, /, *args)\n--\n\nCloses the view."},
    {"is_contiguous", is_contiguous, METH_NOARGS,
     "is_contiguous($self, /)\n--\n\nWhether the elements follow one another in C order."},
    {"ensure_contiguous", ensure_contiguous, METH_NOARGS,
     "ensure_contiguous($self, /)\n--\n\nThe view itself if it is contiguous, else a copy, which is reported."},
    {"copy", copy, METH_NOARGS,
     "copy($self, /)\n--\n\nDense, writable memory of its own with the same elements; reported as a copy."},
    {"to_device", as_method(to_device), METH_FASTCALL | METH_KEYWORDS,
     "to_device($self, device, /, stream=None)\n--\n\nThe same elements on 'cpu' or 'cuda:0': the view itself if "
     "they are there, else a copy, which is reported. Unified memory is not copied where the device and the host may "
     "use it at the same time: a view of the same memory, which on the way back to 'cpu' waits for work that uses it. "
     "stream: in which it is made, of either device; else the view's "
     "own. From the host it returns when the memory was read, to the host when it is there. ValueError, CudaError, "
     "OutOfMemoryError."},
    {"cast", cast, METH_O,
     "cast($self, dtype, /)\n--\n\nA copy with another dtype of the same kind of number, as NumPy's astype with "
     "TypeError."},
    {"transpose", transpose, METH_VARARGS,
     "transpose($self, /, *axes)\n--\n\nA view with the dimensions in another order; without axes: reversed."},
    {"reshape", reshape, METH_VARARGS,
     "reshape($self, /, *shape)\n--\n\nA view with another shape, one extent of which may be -1. ValueError where that "
     "would take a copy."},
    {"broadcast_to", broadcast_to, METH_VARARGS,
     "broadcast_to($self, /, *shape)\n--\n\nA read-only view in which dimensions of one element are repeated."},
    {"sum", as_method(view_sum), METH_FASTCALL | METH_KEYWORDS,
     "sum($self, /, axis=None, *, keepdims=False, dtype=None, out=None, initial=None, where=True)\n--\n\nThe sum over "
     "all or some axes: of integers in 64 bits, of "
     "floats "
     "added up in float64 and rounded once. A number where all axes are summed, else a view of new memory."},
    {"mean", as_method(view_mean), METH_FASTCALL | METH_KEYWORDS,
     "mean($self, /, axis=None, *, keepdims=False, dtype=None, out=None, initial=None, where=True)\n--\n\nThe mean "
     "over all or some axes; of integers as float64."},
    {"min", as_method(view_min), METH_FASTCALL | METH_KEYWORDS,
     "min($self, /, axis=None, *, keepdims=False, dtype=None, out=None, initial=None, where=True)\n--\n\nThe least "
     "element over all or some axes; NaN where there is "
     "one. "
     "ValueError where there are no elements."},
    {"max", as_method(view_max), METH_FASTCALL | METH_KEYWORDS,
     "max($self, /, axis=None, *, keepdims=False, dtype=None, out=None, initial=None, where=True)\n--\n\nThe greatest "
     "element, likewise."},
    {"plan", as_method(view_plan), METH_FASTCALL | METH_KEYWORDS,
     "plan($self, operation, /, axis=None)\n--\n\nThe loops that an operation ('sum', 'mean', 'min', 'max', 'copy', "
     "'cast' (to elements of 8 bytes), 'fill', 'add_index') would run, in words."},
    {"fill", fill, METH_O,
     "fill($self, value, /)\n--\n\nSets every element. BufferError if the view is read-only; TypeError and "
     "OverflowError as "
     "MemArray.fill."},
    {"add_index", add_index, METH_NOARGS, "add_index($self, /)\n--\n\nAdds to each element the sum of its indices."},
    {"item", item, METH_NOARGS, "item($self, /)\n--\n\nThe only element, as a Python number."},
    {"tolist", view_tolist, METH_NOARGS,
     "tolist($self, /)\n--\n\nNested lists of all elements as Python numbers; without dimensions, one number."},
    {"tobytes", as_method(view_tobytes), METH_FASTCALL | METH_KEYWORDS,
     "tobytes($self, /, order='C')\n--\n\nThe bytes of all elements, in C or Fortran order ('A': as they lie, else "
     "C)."},
    {"__complex__", view_complex, METH_NOARGS, "__complex__($self, /)\n--\n\nThe value of the only element."},
    {"__dlpack__", as_method(dlpack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A new DLPack capsule of the memory, without a copy. BufferError for a read-only view and a consumer of the "
     "unversioned struct, and for negative strides, of which some consumers die."},
    {"__dlpack_device__", dlpack_device_of, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n(DLPack device type, device id) of the memory."},
    {"__array__", as_method(as_numpy), METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\nThe memory as a NumPy array."},
    {"__reduce_ex__", reduce_ex, METH_O,
     "__reduce_ex__($self, protocol, /)\n--\n\nPickles the elements; out of band with protocol 5 and a "
     "buffer_callback, else in band."},
    {"__copy__", copy, METH_NOARGS, "__copy__($self, /)\n--\n\nThe same as copy()."},
    {"__deepcopy__", deep_copy, METH_O, "__deepcopy__($self, memo, /)\n--\n\nThe same as copy()."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace memarray::python
