#include "array/array_type.hpp"
#include "array/shared_bytes.hpp"
#include "array/struct_dtype.hpp"
#include "helpers.hpp"
#include "lease/lease_type.hpp"
#include "py_ref.hpp"
#include "python_errors.hpp"
#include "shown.hpp"

#include <memarray/array/shared_memory.hpp>
#include <memarray/memory/default_resource.hpp>

#include <structmember.h>

#include <cstddef>
#include <new>
#include <string>

namespace memarray::python {
namespace {

struct PyInstance {
  PyObject_HEAD DType dtype;
  int ndim;
  AddIndex add_index;
};

PyTypeObject* instance_type = nullptr;
PyObject* registry = nullptr;

PyInstance& instance_of(PyObject* self) noexcept { return *reinterpret_cast<PyInstance*>(self); }

void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("<instance MemArray<%s, %d>>", instance_of(self).dtype.name, instance_of(self).ndim);
}

detail::ArrayStatePtr make_state(DType const& dtype, std::vector<std::int64_t> const& shape, int device_id,
                                 MemoryType type, ArrayOptions options) {
  if (type == MemoryType::device) return detail::ArrayState::make_on_device(dtype, shape, device_id, options);
  if (type != MemoryType::normal) options.resource = host_resource(type, device_id);
  return detail::ArrayState::make(dtype, shape, device_id, options);
}

// Makes an array: (type, shape, device_id, uninitialized, memory_type).
PyObject* call(PyObject* self, PyObject* args, PyObject*) {
  PyTypeObject* type = nullptr;
  PyObject* shape_object = nullptr;
  PyObject* device = nullptr;
  int device_id = 0;
  int uninitialized = 0;
  int memory_type = 0;
  if (!PyArg_ParseTuple(args, "O!OOp|i", &PyType_Type, &type, &shape_object, &device, &uninitialized, &memory_type))
    return nullptr;
  if (!read_device_id(device, device_id)) return nullptr;
  if (memory_type < 0 || memory_type > static_cast<int>(MemoryType::device))
    return PyErr_Format(PyExc_ValueError, "%d is not a memory type", memory_type);
  return guarded([&]() -> PyObject* {
    std::vector<std::int64_t> shape;
    if (!read_shape(shape_object, shape)) return nullptr;
    PyInstance const& instance = instance_of(self);
    if (static_cast<int>(shape.size()) != instance.ndim) {
      PyErr_Format(PyExc_ValueError, "%s makes arrays of %d dimensions; the shape has %zu", shown(self).c_str(),
                   instance.ndim, shape.size());
      return nullptr;
    }
    return make_array(type, make_state(instance.dtype, shape, device_id, static_cast<MemoryType>(memory_type),
                                       ArrayOptions{.uninitialized = uninitialized != 0}));
  });
}

PyObject* add_index(PyObject* self, PyObject* args) {
  PyObject* array = nullptr;
  long long stream = 0;
  if (!PyArg_ParseTuple(args, "OL", &array, &stream)) return nullptr;
  return guarded([&]() -> PyObject* {
    PyInstance const& instance = instance_of(self);
    detail::ArrayState* const state = unwrap_state(array);
    if (!state || !(state->dtype() == instance.dtype) || state->ndim() != instance.ndim) {
      PyErr_Format(PyExc_TypeError, "%s is not an array of %s", shown(array).c_str(), shown(self).c_str());
      return nullptr;
    }
    if (!instance.add_index) {
      PyErr_Format(PyExc_TypeError, "%s has no += with a number, so its indices cannot be added to it",
                   instance.dtype.name);
      return nullptr;
    }
    instance.add_index(*state, stream);
    return Py_NewRef(Py_None);
  });
}

PyObject* shared_bytes(PyObject* self, PyObject* shape_object) {
  return guarded([&]() -> PyObject* {
    std::vector<std::int64_t> shape;
    if (!read_shape(shape_object, shape)) return nullptr;
    return PyLong_FromSize_t(detail::segment_bytes(instance_of(self).dtype, shape));
  });
}

PyObject* create_shared(PyObject* self, PyObject* args) {
  PyTypeObject* type = nullptr;
  PyObject* view = nullptr;
  PyObject* keep = nullptr;
  char const* name = nullptr;
  PyObject* shape_object = nullptr;
  int memory_is_zero = 0;
  if (!PyArg_ParseTuple(args, "O!OOsOp", &PyType_Type, &type, &view, &keep, &name, &shape_object, &memory_is_zero))
    return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<std::int64_t> shape;
    if (!read_shape(shape_object, shape)) return nullptr;
    SharedSpan const memory = shared_span_of(view, keep);
    return make_array(type, detail::create_shared(memory.bytes, memory.keep_alive, name, memory_is_zero != 0,
                                                  instance_of(self).dtype, shape));
  });
}

PyObject* attach_shared(PyObject* self, PyObject* args) {
  PyTypeObject* type = nullptr;
  PyObject* view = nullptr;
  PyObject* keep = nullptr;
  char const* name = nullptr;
  if (!PyArg_ParseTuple(args, "O!OOs", &PyType_Type, &type, &view, &keep, &name)) return nullptr;
  return guarded([&]() -> PyObject* {
    SharedSpan const memory = shared_span_of(view, keep);
    PyInstance const& instance = instance_of(self);
    return make_array(type,
                      detail::attach_shared(memory.bytes, memory.keep_alive, name, instance.dtype, instance.ndim));
  });
}

PyMethodDef methods[] = {{"add_index_tuple", add_index, METH_VARARGS, nullptr},
                         {"shared_bytes", shared_bytes, METH_O, nullptr},
                         {"create_shared", create_shared, METH_VARARGS, nullptr},
                         {"attach_shared", attach_shared, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyObject* get_typestr(PyObject* self, void*) { return typestr_of(instance_of(self).dtype); }

PyGetSetDef properties[] = {{"_typestr", get_typestr, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A factory of arrays of one dtype and rank: MemArray<T, ndim> in C++.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, nullptr}};

PyType_Spec spec = {"memarray._core.Instance", sizeof(PyInstance), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

PyObject* instances() { return registry; }

int register_instance(DType const& dtype, int ndim, AddIndex add_index) {
  PyRef const self = PyRef::steal(instance_type->tp_alloc(instance_type, 0));
  if (!self) return -1;
  PyInstance& instance = instance_of(self.get());
  new (&instance.dtype) DType(dtype);
  instance.ndim = ndim;
  instance.add_index = add_index;
  PyRef const key = PyRef::steal(Py_BuildValue("(si)", dtype.name, ndim));
  return key ? PyDict_SetItem(registry, key.get(), self.get()) : -1;
}

int add_instances(PyObject* module) {
  if (!instance_type) {
    instance_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    registry = PyDict_New();
    if (!instance_type || !registry) return -1;
  }
  if (PyModule_AddObjectRef(module, "Instance", reinterpret_cast<PyObject*>(instance_type)) != 0) return -1;
  return PyModule_AddObjectRef(module, "instances", registry);
}

}  // namespace memarray::python
