#include "array/struct_dtype.hpp"
#include "export/buffer.hpp"
#include "helpers.hpp"
#include "py_ref.hpp"
#include "python_errors.hpp"
#include "view/view_buffer.hpp"
#include "view/view_object.hpp"

#include <string>

namespace memarray::python {
namespace {

PyObject* get_data_ptr(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromVoidPtr(core_of(self).data()); });
}
PyObject* get_shape(PyObject* self, void*) {
  StridedLayout const& layout = layout_of(self);
  return to_tuple(layout.shape().data(), layout.ndim());
}
PyObject* get_strides(PyObject* self, void*) {
  StridedLayout const& layout = layout_of(self);
  return to_tuple(layout.strides().data(), layout.ndim());
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(layout_of(self).ndim()); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromLongLong(layout_of(self).size()); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromUnsignedLong(dtype_of_view(self).itemsize); }
PyObject* get_nbytes(PyObject* self, void*) { return PyLong_FromSize_t(view_in(self)->core.bytes()); }
PyObject* get_dtype(PyObject* self, void*) { return call_helper("memarray._numpy", "view_dtype", self); }
PyObject* get_dtype_name(PyObject* self, void*) { return PyUnicode_FromString(dtype_of_view(self).name); }
PyObject* get_typestr(PyObject* self, void*) { return typestr_of(dtype_of_view(self)); }
PyObject* get_device(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Device const place = core_of(self).device();
    PyRef const module = PyRef::steal(PyImport_ImportModule("memarray._device"));
    if (!module) return nullptr;
    return place.is_cpu() ? PyObject_GetAttrString(module.get(), "CPU")
                          : PyObject_CallMethod(module.get(), "Device", "s", to_string(place).c_str());
  });
}
PyObject* get_memory_type(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    std::string const word(to_string(core_of(self).memory_type()));
    PyRef const module = PyRef::steal(PyImport_ImportModule("memarray._enums"));
    return module ? PyObject_CallMethod(module.get(), "MemoryType", "s", word.c_str()) : nullptr;
  });
}
PyObject* get_owner(PyObject* self, void*) {
  PyObject* const owner = owner_of_view(self);
  return owner ? owner : Py_NewRef(Py_None);
}
PyObject* get_writable(PyObject* self, void*) { return PyBool_FromLong(core_of(self).writable()); }
PyObject* get_closed(PyObject* self, void*) { return PyBool_FromLong(!core_of(self).is_open()); }
PyObject* get_array_interface(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    detail::ViewCore const& core = core_of(self);
    if (!core.is_open()) {
      PyErr_SetString(PyExc_AttributeError, "__array_interface__: the view is closed");
      return nullptr;
    }
    if (core.on_device()) {
      PyErr_SetString(PyExc_AttributeError,
                      "__array_interface__: this memory is on a device; copy it with to_device('cpu') first");
      return nullptr;
    }
    if (core.dtype().typestr[0] == '\0') {
      PyErr_Format(PyExc_AttributeError, "__array_interface__ has no name for %s; np.asarray works with ml_dtypes",
                   core.dtype().name);
      return nullptr;
    }
    return pinned_interface(self);
  });
}

PyObject* get_cuda_array_interface(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    detail::ViewCore const& core = core_of(self);
    char const* const why = !core.is_open() ? "the view is closed"
                            : !core.on_device() || core.block().exported_device().type != kDLCUDA
                                ? "it is available only for memory on a CUDA device, and this is not"
                            : core.dtype().typestr[0] == '\0' ? "it has no name for this dtype; use DLPack"
                                                              : nullptr;
    if (why) return PyErr_Format(PyExc_AttributeError, "__cuda_array_interface__: %s", why);
    core.export_to(nullptr);
    pin(self, core);
    return with_stream(describe_memory(core), core.stream());
  });
}

PyObject* get_transposed(PyObject* self, void*) {
  return guarded([&] {
    StridedLayout layout = layout_of(self);
    layout.transpose();
    return derived(self, core_of(self).at(layout, 0));
  });
}

}  // namespace

void pin(PyObject* self, detail::ViewCore const& core) {
  detail::BlockExport pinned = core.memory();
  // A view has one memory, so one pin suffices.
  ViewScope const scope(self);
  PyView& view = *view_in(self);
  RarePart& rare = view.rare_part();
  if (rare.pinned) return;
  rare.pinned = std::move(pinned);
  if (view.keep_alive) view.keep_alive->in_views.fetch_add(1);
}

PyObject* pinned_interface(PyObject* self) {
  detail::ViewCore const& core = core_of(self);
  core.check_host();
  pin(self, core);
  return describe_memory(core);
}

PyGetSetDef view_properties[] = {
    {"data_ptr", get_data_ptr, nullptr, "The address of the element whose indices are all 0.", nullptr},
    {"shape", get_shape, nullptr, "The extents, as a tuple.", nullptr},
    {"strides", get_strides, nullptr, "The strides in bytes, as a tuple.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions, at most 16.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "The size of one element in bytes.", nullptr},
    {"nbytes", get_nbytes, nullptr, "The size of all elements in bytes if they were dense.", nullptr},
    {"dtype", get_dtype, nullptr,
     "The element type, as an np.dtype. It is structured for a struct with fields; for bfloat16 it is that of "
     "ml_dtypes, if installed.",
     nullptr},
    {"device", get_device, nullptr, "The device of the memory.", nullptr},
    {"memory_type", get_memory_type, nullptr,
     "The kind of the memory: whether the host and devices can reach it. A MemoryType, which equals 'normal', "
     "'pinned', 'unified' or 'device'.",
     nullptr},
    {"owner", get_owner, nullptr, "The object whose memory is viewed; None if the view owns its memory.", nullptr},
    {"writable", get_writable, nullptr, "True if the memory may be written.", nullptr},
    {"closed", get_closed, nullptr, "True if the view is closed.", nullptr},
    {"T", get_transposed, nullptr, "A view with the dimensions reversed.", nullptr},
    {"__array_interface__", get_array_interface, nullptr,
     "NumPy's array interface, version 3. It has no release: once it was requested, the view keeps its memory until "
     "the view is collected, even after close().",
     nullptr},
    {"__cuda_array_interface__", get_cuda_array_interface, nullptr,
     "The CUDA array interface, version 3, of memory on a CUDA device. It contains the view's stream, for which the "
     "consumer must wait. It has no release, like __array_interface__. Raises AttributeError for host memory and "
     "simulated devices.",
     nullptr},
    {"_dtype_name", get_dtype_name, nullptr, nullptr, nullptr},
    {"_typestr", get_typestr, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace memarray::python
