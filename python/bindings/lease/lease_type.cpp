#include "lease/lease_type.hpp"

#include "allocation_site.hpp"
#include "array/array_type.hpp"
#include "export/buffer.hpp"
#include "export/dlpack_capsule.hpp"
#include "export/exchange_api.hpp"
#include "helpers.hpp"
#include "py_ref.hpp"
#include "python_errors.hpp"
#include "signature.hpp"
#include "view/view_buffer.hpp"
#include "view/view_numbers.hpp"
#include "view/view_type.hpp"

#include <structmember.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace memarray::python {
namespace {

using detail::LeaseCore;

struct PyLease {
  PyObject_HEAD PyObject* weak_references;
  LeaseCore core;
};

PyTypeObject* lease_type = nullptr;

LeaseCore& core_of(PyObject* self) noexcept { return reinterpret_cast<PyLease*>(self)->core; }

PyObject* enter(PyObject* self, PyObject* const*, Py_ssize_t given, PyObject*) {
  if (given != 0) {
    PyErr_SetString(PyExc_TypeError, "__enter__() takes no arguments");
    return nullptr;
  }
  return guarded([&] {
    AllocationSiteScope const site;
    core_of(self).enter(traced_location());
    return Py_NewRef(self);
  });
}

PyObject* close(PyObject* self, PyObject*) {
  return guarded([&] {
    core_of(self).exit();
    return Py_NewRef(Py_None);
  });
}

PyObject* exit(PyObject* self, PyObject* const*, Py_ssize_t, PyObject*) { return close(self, nullptr); }

PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  DLPackRequest request;
  if (!parse_dlpack_request(args, given, keywords, request)) return nullptr;
  return guarded([&] {
    AllocationSiteScope const site;
    return make_capsule(core_of(self), request);
  });
}

PyObject* dlpack_device_of(PyObject* self, PyObject* const*, Py_ssize_t given, PyObject* keywords) {
  if (given != 0 || keywords) {
    PyErr_SetString(PyExc_TypeError, "__dlpack_device__() takes no arguments");
    return nullptr;
  }
  return guarded([&] { return dlpack_device(core_of(self).block().exported_device()); });
}

PyObject* as_numpy(PyObject* self, PyObject* args, PyObject* keywords) {
  return call_helper("memarray._numpy", "lease_to_numpy", self, args, keywords);
}

PyObject* view(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    AllocationSiteScope const site;
    detail::ViewCore core(core_of(self));
    PyRef const owner = PyRef::steal(wrap_state(core_of(self).state_ptr()));
    return owner ? make_view(std::move(core), owner.get()) : nullptr;
  });
}

/// Calls `function` with `lease.view()`. If there is no view, returns null or -1 with an exception set.
template <typename Function>
std::invoke_result_t<Function, PyObject*> through_view(PyObject* lease, Function function) {
  PyRef const view = PyRef::steal(PyObject_CallMethod(lease, "view", nullptr));
  if (view) return function(view.get());
  if constexpr (std::is_pointer_v<std::invoke_result_t<Function, PyObject*>>)
    return nullptr;
  else
    return -1;
}

PyObject* as_int(PyObject* self) { return through_view(self, &view_int); }
PyObject* as_float(PyObject* self) { return through_view(self, &view_float); }
PyObject* as_index(PyObject* self) { return through_view(self, &view_as_index); }
PyObject* as_complex(PyObject* self, PyObject*) {
  return through_view(self, [](PyObject* view) { return view_complex(view, nullptr); });
}
PyObject* iterate(PyObject* self) { return through_view(self, &view_iter); }

Py_ssize_t length(PyObject* self) { return through_view(self, &PyObject_Length); }
int contains(PyObject* self, PyObject* value) {
  return through_view(self, [value](PyObject* view) { return view_contains(view, value); });
}
PyObject* subscript(PyObject* self, PyObject* key) {
  return through_view(self, [key](PyObject* view) { return view_getitem(view, key); });
}
int truth(PyObject* self) { return through_view(self, &view_bool); }

PyObject* expect(PyObject* self, PyObject* shape) {
  return guarded([&]() -> PyObject* {
    std::vector<std::int64_t> extents;
    if (!read_shape(shape, extents)) return nullptr;
    core_of(self).expect(extents);
    Py_RETURN_NONE;
  });
}

PyObject* reduce(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "cannot pickle a lease; pickle a NumPy copy of its memory");
  return nullptr;
}

PyObject* get_array_interface(PyObject* self, void*) {
  return guarded([&] { return lease_array_interface(core_of(self)); });
}

PyObject* get_cuda_array_interface(PyObject* self, void*) {
  return guarded([&] { return lease_cuda_array_interface(core_of(self)); });
}

PyObject* get_lock_id(PyObject* self, void*) { return PyLong_FromLongLong(core_of(self).lock_id()); }
PyObject* get_is_open(PyObject* self, void*) { return PyBool_FromLong(core_of(self).is_open()); }
PyObject* get_writable(PyObject* self, void*) { return PyBool_FromLong(core_of(self).is_write()); }

PyObject* get_array(PyObject* self, void*) {
  return guarded([&] { return wrap_state(core_of(self).state_ptr()); });
}

PyObject* repr(PyObject* self) {
  return guarded([&] {
    LeaseCore const& core = core_of(self);
    return PyUnicode_FromFormat("<%s %s lease of %s>", core.status_name(), core.is_write() ? "write" : "read",
                                core.state().describe().c_str());
  });
}

// Runs while the object is whole: the warning shows it.
void finalize(PyObject* self) {
  LeaseCore& core = core_of(self);
  if (!core.is_open()) return;
  ErrorAside const aside;
  core.exit();
  if (PyErr_ResourceWarning(self, 1, "%s lease was collected while it was open; use it in a 'with' statement",
                            core.is_write() ? "a write" : "a read") != 0)
    PyErr_WriteUnraisable(self);
}

void dealloc(PyObject* self) {
  if (core_of(self).is_open() && PyObject_CallFinalizerFromDealloc(self) < 0) return;
  auto* const lease = reinterpret_cast<PyLease*>(self);
  if (lease->weak_references) PyObject_ClearWeakRefs(self);
  lease->core.~LeaseCore();
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int getbuffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded([&] { return lease_getbuffer(self, core_of(self), view, flags); });
}

PyMethodDef methods[] = {
    {"__enter__", as_method(enter), METH_FASTCALL | METH_KEYWORDS,
     "__enter__($self, /)\n--\n\n"
     "Opens the lease and returns it. A refused lease raises LockError here, and never later."},
    {"__exit__", as_method(exit), METH_FASTCALL | METH_KEYWORDS,
     "__exit__($self, /, *args)\n--\n\n"
     "Closes the lease. Views taken from it stay valid and never change. A second call has no effect."},
    {"close", close, METH_NOARGS,
     "close($self, /)\n--\n\n"
     "Closes the lease early. A second call has no effect. If another thread is opening the lease, that raises "
     "LockError there."},
    {"_expect", expect, METH_O, "_expect($self, shape, /)\n--\n\nMakes opening raise ValueError for another shape."},
    {"__dlpack__", as_method(dlpack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Returns a new DLPack capsule of the leased memory, without a copy unless copy=True. It is versioned if "
     "max_version is (1, 0) or more. The memory lives as long as the consumer keeps it. Raises LockError unless the "
     "lease is open. Raises BufferError if a read lease is exported to a consumer of the unversioned struct, which has "
     "no read-only flag." MEMARRAY_DLPACK_KEYWORDS},
    {"__dlpack_device__", as_method(dlpack_device_of), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack_device__($self, /)\n--\n\nReturns (DLPack device type, device id) of the leased memory."},
    {"view", view, METH_NOARGS,
     "view($self, /)\n--\n\n"
     "Returns a BufferView of the leased memory, writable under a write lease. On a device it is for use in the "
     "lease's stream. After the lease it is an escaped view, like any other export."},
    {"__complex__", as_complex, METH_NOARGS, "__complex__($self, /)\n--\n\nReturns the only element as a complex."},
    {"__reduce_ex__", reduce, METH_O, "__reduce_ex__($self, protocol, /)\n--\n\nRefused: TypeError."},
    {"__reduce__", reduce, METH_NOARGS, "__reduce__($self, /)\n--\n\nRefused: TypeError."},
    {"__array__", as_method(as_numpy), METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\nReturns the leased memory as a NumPy array."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"__array_interface__", get_array_interface, nullptr,
     "NumPy's array interface, version 3. It has no release: reading it makes the lease itself a live export until "
     "it is collected. Raises AttributeError on a device, and unless the lease is open.",
     nullptr},
    {"__cuda_array_interface__", get_cuda_array_interface, nullptr,
     "The CUDA array interface, version 3, of memory on a CUDA device, with the lease's stream. The consumer must "
     "wait for that stream. The interface has no release: reading it makes the lease itself a live export until it "
     "is collected. Raises AttributeError on the host, on simulated devices, and unless the lease is open.",
     nullptr},
    {"lock_id", get_lock_id, nullptr, "The id under which the array is held for writing; -1 for a read lease.",
     nullptr},
    {"is_open", get_is_open, nullptr, "True if the lease is open.", nullptr},
    {"writable", get_writable, nullptr, "True for a write lease.", nullptr},
    {"array", get_array, nullptr, "A new MemArray over the state of the leased array.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

int export_tensor(void* object, DLManagedTensorVersioned** out) {
  *out = nullptr;
  if (!check_instance(object, lease_type)) return -1;
  return guarded([&] {
    *out = export_over_table(core_of(static_cast<PyObject*>(object)));
    return 0;
  });
}

DLPackExchangeAPI exchange_api;

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyLease, weak_references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_doc,
     const_cast<char*>("A hold of an array for the length of a 'with' block. It exports its memory without a copy.\n\n"
                       "Made by MemArray.read, MemArray.write and MemArray.get_dlpack. Pass it to "
                       "np.from_dlpack, torch.from_dlpack, memoryview or np.asarray.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_finalize, reinterpret_cast<void*>(finalize)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(refuse_assignment)},
    {Py_nb_bool, reinterpret_cast<void*>(truth)},
    {Py_nb_int, reinterpret_cast<void*>(as_int)},
    {Py_nb_float, reinterpret_cast<void*>(as_float)},
    {Py_nb_index, reinterpret_cast<void*>(as_index)},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {Py_sq_contains, reinterpret_cast<void*>(contains)},
    {Py_tp_iter, reinterpret_cast<void*>(iterate)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare_identity)},
    {Py_tp_hash, reinterpret_cast<void*>(hash_identity)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(getbuffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr}};

PyType_Spec spec = {"memarray.Lease", sizeof(PyLease), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

int add_lease_type(PyObject* module) {
  if (!lease_type) {
    lease_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (!lease_type || add_exchange_api(lease_type, exchange_api, export_tensor, nullptr) != 0) return -1;
  }
  return PyModule_AddObjectRef(module, "Lease", reinterpret_cast<PyObject*>(lease_type));
}

PyObject* make_lease(detail::ArrayStatePtr state, LeaseCore::Kind kind, LeaseOptions const& options) {
  // tp_alloc would zero the memory.
  PyLease* const self = PyObject_New(PyLease, lease_type);
  if (!self) return nullptr;
  self->weak_references = nullptr;
  new (&self->core) LeaseCore(std::move(state), kind, options);
  return reinterpret_cast<PyObject*>(self);
}

LeaseCore* lease_of(PyObject* object) { return Py_IS_TYPE(object, lease_type) ? &core_of(object) : nullptr; }

}  // namespace memarray::python
