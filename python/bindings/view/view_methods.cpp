#include "allocation_site.hpp"
#include "array/array_type.hpp"
#include "export/dlpack_capsule.hpp"
#include "helpers.hpp"
#include "import/view_import.hpp"
#include "lease/lease_type.hpp"
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

PyObject* close(PyObject* self, PyObject*) {
  close_view(self);
  Py_RETURN_NONE;
}

PyObject* exit(PyObject* self, PyObject* const*, Py_ssize_t, PyObject*) { return close(self, nullptr); }

PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    core_of(self).check_open();
    return Py_NewRef(self);
  });
}

PyObject* is_contiguous(PyObject* self, PyObject*) { return PyBool_FromLong(core_of(self).is_contiguous()); }
PyObject* is_fortran_contiguous(PyObject* self, PyObject*) {
  return PyBool_FromLong(core_of(self).is_fortran_contiguous());
}

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

/// Returns numbers, passed one by one or as a sequence, as one sequence.
PyObject* list_in(PyObject* args) {
  bool const is_sequence = PyTuple_GET_SIZE(args) == 1 && !PyIndex_Check(PyTuple_GET_ITEM(args, 0));
  return is_sequence ? PyTuple_GET_ITEM(args, 0) : args;
}

PyObject* transpose(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* const axes = list_in(args);
    std::vector<std::int64_t> given;
    if (axes != Py_None && !read_integers(axes, {"axes are", "the axes", "axis", "[1, 0]"}, given)) return nullptr;
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

Signature<2> astype_signature("astype", {"dtype", "copy"}, 1);

PyObject* astype(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  std::array<PyObject*, 2> slots{};
  if (!astype_signature.parse(args, given, keywords, slots)) return nullptr;
  auto const [wanted, copied] = slots;
  if (!wanted) {
    PyErr_SetString(PyExc_TypeError, "astype takes a dtype: view.astype('float32')");
    return nullptr;
  }
  int const always = copied ? PyObject_IsTrue(copied) : 1;
  if (always < 0) return nullptr;
  return guarded([&, wanted = wanted]() -> PyObject* {
    DType const* const dtype = read_dtype(wanted);
    if (!dtype) return nullptr;
    ViewCore const& core = core_of(self);
    core.check_open();
    return always || core.dtype() != *dtype ? make_view(core.astype(*dtype), nullptr) : Py_NewRef(self);
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
    if (core.layout().size() != 1) throw ValueError("item() expects a view with one element, got a " + core.describe());
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
    AllocationSiteScope const site;
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
    AllocationSiteScope const site;
    return make_capsule(core_of(self), request);
  });
}

PyObject* dlpack_device_of(PyObject* self, PyObject*) {
  return guarded([&] {
    ViewCore const& core = core_of(self);
    core.check_open();
    return dlpack_device(core.on_device() ? core.block().exported_device() : Device{});
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

bool init_view_methods() { return to_device_signature.intern() && astype_signature.intern() && init_view_numbers(); }

PyObject* first_element(ViewCore const& view) {
  if (!view.on_device()) return read_element(view.dtype(), view.data());
  std::vector<std::byte> element(view.dtype().itemsize);
  view.read_element(element.data());
  return read_element(view.dtype(), element.data());
}

PyMethodDef view_methods[] = {
    {"from_numpy", as_method(from_numpy), METH_FASTCALL | METH_KEYWORDS | METH_STATIC,
     "from_numpy(array, /, device=None)\n--\n\nReturns a view of a NumPy array with any strides, without a copy. The "
     "view is read-only if the array is, and keeps the array alive. With device, returns a copy on that device, which "
     "is reported. Raises TypeError for any other object, and BufferError for a dtype that memarray lacks or for "
     "elements that are not aligned."},
    {"from_buffer", as_method(from_buffer), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "from_buffer(obj, dtype=None, device=None)\n--\n\nReturns a view of an object with the buffer protocol, such as "
     "bytes, bytearray, memoryview, array or mmap. With dtype, the view reads the bytes as one dimension of that "
     "dtype; without it, the buffer's own format applies. The buffer stays locked while a view of it exists. With "
     "device, returns a copy on that device, which is reported."},
    {"from_dlpack", as_method(from_dlpack), METH_FASTCALL | METH_KEYWORDS | METH_STATIC,
     "from_dlpack(obj, /, *, copy=None)\n--\n\nReturns a view of another library's memory over DLPack. The object is a "
     "capsule or has __dlpack__. The view is read-only if the producer exports it so. copy=True returns a private "
     "copy; copy=False forbids a copy by the producer, too, if it supports the argument. Work on device memory comes "
     "after the work that is now in the producer's stream; an import of managed memory waits for that work. Raises "
     "BufferError for memory that cannot be viewed."},
    {"close", close, METH_NOARGS,
     "close($self, /)\n--\n\nReleases the memory. Views and tensors made from this view keep it alive. A second call "
     "does nothing."},
    {"__enter__", enter, METH_NOARGS, "__enter__($self, /)\n--\n\nReturns the view itself; a 'with' block closes it."},
    {"__exit__", as_method(exit), METH_FASTCALL | METH_KEYWORDS, "__exit__($self, /, *args)\n--\n\nCloses the view."},
    {"is_contiguous", is_contiguous, METH_NOARGS,
     "is_contiguous($self, /)\n--\n\nReturns True if the elements are dense in C order."},
    {"is_fortran_contiguous", is_fortran_contiguous, METH_NOARGS,
     "is_fortran_contiguous($self, /)\n--\n\nReturns True if the elements are dense in Fortran order, also called "
     "column-major."},
    {"ensure_contiguous", ensure_contiguous, METH_NOARGS,
     "ensure_contiguous($self, /)\n--\n\nReturns the view itself if it is dense in C order, else a copy, which is "
     "reported."},
    {"copy", copy, METH_NOARGS, "copy($self, /)\n--\n\nReturns a dense, writable copy, which is reported."},
    {"to_device", as_method(to_device), METH_FASTCALL | METH_KEYWORDS,
     "to_device($self, device, /, stream=None)\n--\n\nReturns the elements on a device such as 'cpu' or 'cuda:0': the "
     "view itself if its memory is there, else a copy, which is reported. Unified memory is not copied if the device "
     "and the host may use it at the same time; a view of it for 'cpu' waits for pending work. The copy runs in "
     "stream, which belongs to either device. The default is the view's own stream, or the default stream if the view "
     "is on the host. A copy from the host returns once the source has been read, a copy to the host once it is "
     "complete. Raises ValueError, CudaError or OutOfMemoryError."},
    {"cast", cast, METH_O,
     "cast($self, dtype, /)\n--\n\nReturns a copy with another dtype of a compatible kind of number, like NumPy's "
     "astype with casting='same_kind'. Raises TypeError for any other dtype."},
    {"astype", as_method(astype), METH_FASTCALL | METH_KEYWORDS,
     "astype($self, dtype, /, *, copy=True)\n--\n\nReturns a copy with another dtype, converted like NumPy's "
     "astype, also between kinds of number; with copy=False the view itself if it has that dtype. Raises TypeError for "
     "elements that are no numbers. The array API standard has it, for code that takes arrays of any library."},
    {"transpose", transpose, METH_VARARGS,
     "transpose($self, /, *axes)\n--\n\nReturns a view with the dimensions in the order of axes, or reversed without "
     "axes."},
    {"reshape", reshape, METH_VARARGS,
     "reshape($self, /, *shape)\n--\n\nReturns a view with another shape, in which one extent may be -1. Raises "
     "ValueError if that needs a copy."},
    {"broadcast_to", broadcast_to, METH_VARARGS,
     "broadcast_to($self, /, *shape)\n--\n\nReturns a read-only view that repeats dimensions of one element."},
    {"sum", as_method(view_sum), METH_FASTCALL | METH_KEYWORDS,
     "sum($self, /, axis=None, *, keepdims=False, dtype=None, out=None, initial=None, where=True)\n--\n\nReturns the "
     "sum over all or some axes. Integers are summed in 64 bits; floats are summed in float64 and rounded once. With "
     "dtype, elements are first converted to it, like cast, and the result has it. The result over all axes is a "
     "number, any other is a view of new memory."},
    {"mean", as_method(view_mean), METH_FASTCALL | METH_KEYWORDS,
     "mean($self, /, axis=None, *, keepdims=False, dtype=None, out=None, initial=None, where=True)\n--\n\nReturns the "
     "mean over all or some axes; the mean of integers is float64. With dtype, which is no integer, elements are first "
     "converted to it, like cast, and the result has it."},
    {"min", as_method(view_min), METH_FASTCALL | METH_KEYWORDS,
     "min($self, /, axis=None, *, keepdims=False, dtype=None, out=None, initial=None, where=True)\n--\n\nReturns the "
     "minimum over all or some axes, or NaN if an element is NaN. Raises ValueError if there are no elements."},
    {"max", as_method(view_max), METH_FASTCALL | METH_KEYWORDS,
     "max($self, /, axis=None, *, keepdims=False, dtype=None, out=None, initial=None, where=True)\n--\n\nReturns the "
     "maximum over all or some axes, or NaN if an element is NaN. Raises ValueError if there are no elements."},
    {"plan", as_method(view_plan), METH_FASTCALL | METH_KEYWORDS,
     "plan($self, operation, /, axis=None)\n--\n\nReturns a description of the loops that an operation would run. "
     "Operations: 'sum', 'mean', 'min', 'max', 'copy', 'cast' (to elements of 8 bytes), 'fill', 'add_index'."},
    {"fill", fill, METH_O,
     "fill($self, value, /)\n--\n\nSets every element to value. Raises BufferError if the view is read-only, and "
     "TypeError and OverflowError as MemArray.fill does."},
    {"add_index", add_index, METH_NOARGS, "add_index($self, /)\n--\n\nAdds to each element the sum of its indices."},
    {"item", item, METH_NOARGS, "item($self, /)\n--\n\nReturns the only element as a Python number."},
    {"tolist", view_tolist, METH_NOARGS,
     "tolist($self, /)\n--\n\nReturns all elements as nested lists of Python numbers; a view without dimensions gives "
     "one number."},
    {"tobytes", as_method(view_tobytes), METH_FASTCALL | METH_KEYWORDS,
     "tobytes($self, /, order='C')\n--\n\nReturns the bytes of all elements in C or Fortran order. Order 'A' is "
     "Fortran order if the view is dense in Fortran order only, else C order."},
    {"__complex__", view_complex, METH_NOARGS, "__complex__($self, /)\n--\n\nReturns the only element as a complex."},
    {"__dlpack__", as_method(dlpack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nReturns a new DLPack "
     "capsule of the memory, without a copy unless copy=True. Raises BufferError for negative strides, which some "
     "consumers do not survive, and if a consumer of the unversioned struct asks for a read-only "
     "view." MEMARRAY_DLPACK_KEYWORDS},
    {"__dlpack_device__", dlpack_device_of, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nReturns the (DLPack device type, device id) of the memory."},
    {"__array__", as_method(as_numpy), METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\nReturns the memory as a NumPy array."},
    {"__reduce_ex__", reduce_ex, METH_O,
     "__reduce_ex__($self, protocol, /)\n--\n\nPickles the elements: out of band with protocol 5 and a "
     "buffer_callback, else in band."},
    {"__copy__", copy, METH_NOARGS, "__copy__($self, /)\n--\n\nReturns a copy, like copy()."},
    {"__deepcopy__", deep_copy, METH_O, "__deepcopy__($self, memo, /)\n--\n\nReturns a copy, like copy()."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace memarray::python
