#include "array/array_type.hpp"

#include "allocation_site.hpp"
#include "array/array_object.hpp"
#include "array/shared_bytes.hpp"
#include "export/buffer.hpp"
#include "export/dlpack_capsule.hpp"
#include "export/exchange_api.hpp"
#include "helpers.hpp"
#include "lease/lease_type.hpp"
#include "py_ref.hpp"
#include "python_errors.hpp"
#include "shown.hpp"
#include "signature.hpp"
#include "view/elements.hpp"
#include "view/view_numbers.hpp"
#include "view/view_type.hpp"

#include <memarray/kernel/add_index_tuple.hpp>

#include <structmember.h>

#include <cstddef>
#include <new>
#include <string>

namespace memarray::python {
namespace {

using detail::ArrayState;
using detail::ArrayStatePtr;
using detail::LeaseCore;

PyTypeObject* array_base = nullptr;
PyTypeObject* array_class = nullptr;  // memarray.MemArray

Signature<3> read_signature("read", {"device", "stream", "timeout"}, 3);
Signature<4> write_signature("write", {"device", "stream", "timeout", "discard"}, 3);
Signature<3> get_dlpack_signature("get_dlpack", {"device_type", "device_id", "stream"}, 3);
Signature<4> move_signature("move_memory", {"device_type", "device_id", "stream", "async_copy"}, 4);
Signature<1> add_index_signature("add_index_tuple", {"stream"}, 1);

PyObject* lease(PyObject* self, LeaseCore::Kind kind, PyObject* device, PyObject* stream, PyObject* timeout,
                PyObject* discard) {
  LeaseOptions options;
  if (device && !read_device(device, options.device)) return nullptr;
  if (stream && !read_stream(stream, options.stream)) return nullptr;
  if (timeout && !read_timeout(timeout, options.timeout)) return nullptr;
  if (discard) {
    if (!PyBool_Check(discard))
      return PyErr_Format(PyExc_TypeError, "discard must be True or False, not %s", shown(discard).c_str());
    options.discard = discard == Py_True;
  }
  return make_lease(ArrayStatePtr::share(&state_of(self)), kind, options);
}

PyObject* read(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  std::array<PyObject*, 3> slots{};
  if (!read_signature.parse(args, given, keywords, slots)) return nullptr;
  return lease(self, LeaseCore::Kind::read, slots[0], slots[1], slots[2], nullptr);
}

PyObject* write(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  std::array<PyObject*, 4> slots{};
  if (!write_signature.parse(args, given, keywords, slots)) return nullptr;
  return lease(self, LeaseCore::Kind::write, slots[0], slots[1], slots[2], slots[3]);
}

PyObject* get_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  std::array<PyObject*, 3> slots{};
  if (!get_dlpack_signature.parse(args, given, keywords, slots)) return nullptr;
  auto const [type, id, stream] = slots;
  LeaseOptions options;
  if (stream && !read_stream(stream, options.stream)) return nullptr;
  if (type && type != Py_None) {
    Device device;
    if (!read_dlpack_device(type, id, state_of(self), device)) return nullptr;
    options.device = device;
  } else if (id && id != Py_None) {
    PyErr_SetString(PyExc_TypeError, "get_dlpack() needs device_type with device_id: memarray.dlpack.kDLCUDA");
    return nullptr;
  }
  return make_lease(ArrayStatePtr::share(&state_of(self)), LeaseCore::Kind::write, options);
}

PyObject* move_memory(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  std::array<PyObject*, 4> slots{};
  if (!move_signature.parse(args, given, keywords, slots)) return nullptr;
  auto const [type, id, stream, async_copy] = slots;
  if (!type) {
    PyErr_SetString(PyExc_TypeError, "move_memory() needs device_type: memarray.dlpack.kDLCPU or kDLCUDA");
    return nullptr;
  }
  if (async_copy && !PyBool_Check(async_copy))
    return PyErr_Format(PyExc_TypeError, "async_copy must be True or False, not %s", shown(async_copy).c_str());
  Device device;
  StreamChoice choice;
  if ((stream && !read_stream(stream, choice)) || !read_dlpack_device(type, id, state_of(self), device)) return nullptr;
  return guarded([&] {
    AllocationSiteScope const site;
    detail::move_to(state_of(self), device, -1, choice, async_copy == Py_True);
    return Py_NewRef(Py_None);
  });
}

PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  DLPackRequest request;
  if (!parse_dlpack_request(args, given, keywords, request)) return nullptr;
  return guarded([&] {
    AllocationSiteScope const site;
    LeaseCore lease(ArrayStatePtr::share(&state_of(self)), LeaseCore::Kind::read, {});
    lease.enter();
    return make_capsule(lease, request);
  });
}

int export_tensor(void* object, DLManagedTensorVersioned** out) {
  *out = nullptr;
  if (!check_instance(object, array_base)) return -1;
  return guarded([&] {
    AllocationSiteScope const site;
    LeaseCore lease(ArrayStatePtr::share(&state_of(static_cast<PyObject*>(object))), LeaseCore::Kind::read, {});
    lease.enter();
    *out = export_over_table(lease);
    return 0;
  });
}

PyObject* dlpack_device_of(PyObject* self, PyObject* const*, Py_ssize_t given, PyObject* keywords) {
  if (given != 0 || keywords) {
    PyErr_SetString(PyExc_TypeError, "__dlpack_device__() takes no arguments");
    return nullptr;
  }
  return dlpack_device(state_of(self).residency().exported_device());
}

PyObject* fill(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    ArrayState& state = state_of(self);
    std::vector<std::byte> element;
    if (!write_any_element(self, state.dtype(), value, element)) return nullptr;
    AllocationSiteScope const site;
    detail::fill(state, element.data());
    return Py_NewRef(Py_None);
  });
}

PyObject* resize(PyObject* self, PyObject* shape_object) {
  return guarded([&]() -> PyObject* {
    std::vector<std::int64_t> shape;
    if (!read_shape(shape_object, shape)) return nullptr;
    AllocationSiteScope const site;
    detail::resize(state_of(self), shape);
    return Py_NewRef(Py_None);
  });
}

PyObject* exchange(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    ArrayState* const state = unwrap_state(other);
    if (!state)
      return PyErr_Format(PyExc_TypeError, "exchange swaps contents with another MemArray, not with %s",
                          shown(other).c_str());
    detail::exchange(state_of(self), *state);
    return Py_NewRef(Py_None);
  });
}

PyObject* copy(PyObject* self, PyObject*) {
  return guarded([&] {
    AllocationSiteScope const site;
    return make_array(Py_TYPE(self), detail::clone(state_of(self)));
  });
}

PyObject* view(PyObject* self, PyObject*) {
  return guarded([&] {
    AllocationSiteScope const site;
    return make_view(detail::view_of(state_of(self)), self);
  });
}

PyObject* recover(PyObject* self, PyObject*) {
  return guarded([&] {
    AllocationSiteScope const site;
    return recover_shared(state_of(self));
  });
}

PyObject* add_index_tuple(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  std::array<PyObject*, 1> slots{};
  if (!add_index_signature.parse(args, given, keywords, slots)) return nullptr;
  PyObject* const stream = slots[0];
  StreamChoice choice;
  if (stream && !read_stream(stream, choice)) return nullptr;
  return guarded([&]() -> PyObject* {
    AllocationSiteScope const site;
    ArrayState& state = state_of(self);
    if (state.ndim() <= 6 && detail::is_shipped(state.dtype())) {
      detail::add_index_tuple(state, choice);
      return Py_NewRef(Py_None);
    }
    PyRef const key = PyRef::steal(Py_BuildValue("(si)", state.dtype().name, state.ndim()));
    PyRef const instance = PyRef::steal(key ? dict_item(instances(), key.get()) : nullptr);
    if (!instance)
      return PyErr_Occurred() ? nullptr
                              : PyErr_Format(PyExc_TypeError, "%s is not registered", state.describe().c_str());
    return PyObject_CallMethod(instance.get(), "add_index_tuple", "OL", self,
                               static_cast<long long>(state.residency().on_device() ? as_intptr(choice.get()) : 0));
  });
}

void dealloc(PyObject* self) {
  // Python has already called the finalizer of a subclass.
  if (!PyObject_IS_GC(self) && Py_TYPE(self)->tp_finalize && PyObject_CallFinalizerFromDealloc(self) < 0) return;
  auto* const array = reinterpret_cast<PyArray*>(self);
  if (array->weak_references) PyObject_ClearWeakRefs(self);
  array->state.~ArrayStatePtr();
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

DLPackExchangeAPI exchange_api;

PyMethodDef methods[] = {
    {"read", as_method(read), METH_FASTCALL | METH_KEYWORDS,
     "read($self, /, device=None, stream=None, timeout=0)\n--\n\n"
     "Returns a read lease for a 'with' statement. Other readers are allowed, and nothing changes the array "
     "meanwhile. timeout: seconds to wait for a writer (0: raise LockError at once; None: wait until Ctrl-C). "
     "device: where the memory is needed (None: where it is); the array is moved there. stream: the stream in which "
     "the reader uses the memory on a device (None: the default stream). That stream waits for pending work, and the "
     "next user of the array waits for the stream."},
    {"write", as_method(write), METH_FASTCALL | METH_KEYWORDS,
     "write($self, /, device=None, stream=None, timeout=0, *, discard=False)\n--\n\n"
     "Returns a write lease for a 'with' statement. Nothing else reads or changes the array meanwhile. discard=True "
     "promises to write every element: the old contents are given up, and nothing is copied for escaped views. "
     "timeout, device and stream are as for read."},
    {"get_dlpack", as_method(get_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "get_dlpack($self, /, device_type=None, device_id=None, stream=0)\n--\n\n"
     "Returns a write lease on a device (None: where the array is), for np.from_dlpack and other consumers."},
    {"move_memory", as_method(move_memory), METH_FASTCALL | METH_KEYWORDS,
     "move_memory($self, /, device_type, device_id=None, stream=0, async_copy=False)\n--\n\n"
     "Makes the array's copy on a device current. Copies, in the order of stream, if that copy is stale. "
     "async_copy=True returns while the copy is pending; the next user of the array waits for it. Raises LockError "
     "under any lease, CudaError without the device, and OutOfMemoryError."},
    {"add_index_tuple", as_method(add_index_tuple), METH_FASTCALL | METH_KEYWORDS,
     "add_index_tuple($self, /, stream=0)\n--\n\n"
     "Adds to each element the sum of its indices, where the array is. On a device it runs in the order of "
     "stream, which waits for pending work on the array."},
    {"fill", fill, METH_O,
     "fill($self, value, /)\n--\n\n"
     "Sets every element. Raises TypeError for a value of another kind, OverflowError for an integer that does not "
     "fit, and LockError while the array is held."},
    {"resize", resize, METH_O,
     "resize($self, shape, /)\n--\n\n"
     "Gives the array fresh memory of another shape with the same rank. The leading elements are kept in linear "
     "order; the others are zero."},
    {"exchange", exchange, METH_O,
     "exchange($self, other, /)\n--\n\n"
     "Swaps contents with another array of the same dtype and rank, without a copy. Holds both arrays."},
    {"view", view, METH_NOARGS,
     "view($self, /)\n--\n\n"
     "Returns a read-only BufferView, through a read lease that closes at once: a snapshot, under the default "
     "policy. For a writable view use a.write() and lease.view()."},
    {"recover", recover, METH_NOARGS,
     "recover($self, /)\n--\n\n"
     "Releases what exited processes held of an array in shared memory. Returns (pid, held) pairs, in which held is "
     "'write', 'read' or 'views'. After 'write' the contents may be half written: write them again before use. "
     "Processes that are alive keep their holds."},
    {"copy", copy, METH_NOARGS,
     "copy($self, /)\n--\n\n"
     "Returns a deep copy, which is unlocked. Raises LockError while the array is held for writing."},
    {"__dlpack__", as_method(dlpack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Returns a read-only DLPack capsule, through a read lease that closes at once: a snapshot, under the default "
     "policy." MEMARRAY_DLPACK_KEYWORDS},
    {"__dlpack_device__", as_method(dlpack_device_of), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack_device__($self, /)\n--\n\nReturns (DLPack device type, device id) of the array's memory."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyArray, weak_references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("Base class of memarray.MemArray.")},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_richcompare, reinterpret_cast<void*>(compare_identity)},
                       {Py_tp_hash, reinterpret_cast<void*>(hash_identity)},
                       {Py_tp_getset, array_properties},
                       {Py_tp_members, members},
                       {0, nullptr}};

PyType_Spec spec = {
    "memarray._core.ArrayBase", sizeof(PyArray), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

int add_array_type(PyObject* module) {
  bool const interned = read_signature.intern() && write_signature.intern() && get_dlpack_signature.intern() &&
                        move_signature.intern() && add_index_signature.intern();
  if (!interned) return -1;
  if (!array_base) {
    array_base = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (!array_base || add_exchange_api(array_base, exchange_api, export_tensor, nullptr) != 0) return -1;
  }
  return PyModule_AddObjectRef(module, "ArrayBase", reinterpret_cast<PyObject*>(array_base));
}

int set_array_class(PyObject* object) {
  auto* const type = reinterpret_cast<PyTypeObject*>(object);
  bool const is_plain = PyType_Check(object) && type->tp_base == array_base &&
                        type->tp_basicsize == array_base->tp_basicsize && type->tp_dictoffset == 0;
  if (!is_plain) {
    PyErr_Format(PyExc_TypeError, "expected a direct subclass of ArrayBase without instance attributes, got %s",
                 shown(object).c_str());
    return -1;
  }
  Py_INCREF(object);
  // Class statements add garbage collection, which only costs time: arrays refer to no objects. Subclasses get it
  // again.
  type->tp_flags &= ~Py_TPFLAGS_HAVE_GC;
  type->tp_traverse = nullptr;
  type->tp_clear = nullptr;
  type->tp_free = PyObject_Free;
  type->tp_dealloc = dealloc;
  array_class = type;
  return 0;
}

PyObject* make_array(PyTypeObject* type, ArrayStatePtr state) {
  bool const usual = type == array_class;
  if (!usual && !PyType_IsSubtype(type, array_base))
    return PyErr_Format(PyExc_TypeError, "%s is not a subclass of memarray.MemArray",
                        shown(reinterpret_cast<PyObject*>(type)).c_str());
  // tp_alloc would zero the memory.
  PyObject* const self = usual ? PyObject_New(PyObject, type) : type->tp_alloc(type, 0);
  if (!self) return nullptr;
  auto* const array = reinterpret_cast<PyArray*>(self);
  array->weak_references = nullptr;
  new (&array->state) ArrayStatePtr(std::move(state));
  return self;
}

PyObject* wrap_state(ArrayStatePtr state) {
  if (!array_class) {
    // An extension module may be imported before the package, which sets the class.
    PyRef const package = PyRef::steal(PyImport_ImportModule("memarray"));
    if (!package) return nullptr;
    if (!array_class) {
      PyErr_SetString(PyExc_ImportError, "memarray is still being imported: create arrays after `import memarray`");
      return nullptr;
    }
  }
  return make_array(array_class, std::move(state));
}

ArrayState* unwrap_state(PyObject* object) {
  return PyObject_TypeCheck(object, array_base) ? &state_of(object) : nullptr;
}

}  // namespace memarray::python
