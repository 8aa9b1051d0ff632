#include "array/array_object.hpp"
#include "array/shared_bytes.hpp"
#include "array/struct_dtype.hpp"
#include "export/buffer.hpp"
#include "helpers.hpp"
#include "python_errors.hpp"
#include "shown.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace memarray::python {
namespace {

using detail::ArrayState;

std::vector<std::int64_t> shape_of(PyObject* self) {
  ArrayState const& state = state_of(self);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(state.ndim()));
  state.copy_shape(shape.data());
  return shape;
}

std::int64_t size_of(PyObject* self) {
  std::int64_t size = 1;
  for (std::int64_t const extent : shape_of(self)) size *= extent;
  return size;
}

PyObject* get_shape(PyObject* self, void*) {
  std::vector<std::int64_t> const shape = shape_of(self);
  return to_tuple(shape.data(), static_cast<int>(shape.size()));
}

PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(state_of(self).ndim()); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromLongLong(size_of(self)); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromUnsignedLong(state_of(self).dtype().itemsize); }
PyObject* get_nbytes(PyObject* self, void*) {
  return PyLong_FromLongLong(size_of(self) * static_cast<std::int64_t>(state_of(self).dtype().itemsize));
}
PyObject* get_lock_id(PyObject* self, void*) { return PyLong_FromLongLong(state_of(self).lock().lock_id()); }
PyObject* get_is_foreign(PyObject* self, void*) { return PyBool_FromLong(state_of(self).residency().is_foreign()); }
PyObject* get_memory_type(PyObject* self, void*) {
  std::string_view const word = to_string(state_of(self).residency().memory_type());
  return PyUnicode_FromStringAndSize(word.data(), static_cast<Py_ssize_t>(word.size()));
}
PyObject* get_dtype_name(PyObject* self, void*) { return PyUnicode_FromString(state_of(self).dtype().name); }
PyObject* get_typestr(PyObject* self, void*) { return typestr_of(state_of(self).dtype()); }
PyObject* get_segment(PyObject* self, void*) { return describe_segment(state_of(self)); }
PyObject* get_device(PyObject* self, void*) {
  Device const device = state_of(self).residency().device();
  return Py_BuildValue("(si)", device.is_cpu() ? "cpu" : "cuda", device.id);
}
PyObject* get_escaped_views(PyObject* self, void*) {
  std::string_view const word = to_string(state_of(self).escaped_views());
  return PyUnicode_FromStringAndSize(word.data(), static_cast<Py_ssize_t>(word.size()));
}

int set_escaped_views(PyObject* self, PyObject* value, void*) {
  EscapedViews policy{};
  if (!read_escaped_views(value, policy)) return -1;
  return guarded([&] {
    state_of(self).set_escaped_views(policy);
    return 0;
  });
}

}  // namespace

PyGetSetDef array_properties[] = {
    {"shape", get_shape, nullptr, "The extents, as a tuple.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "The size of one element in bytes.", nullptr},
    {"nbytes", get_nbytes, nullptr, "The size of all elements in bytes.", nullptr},
    {"lock_id", get_lock_id, nullptr,
     "The id under which the array is held for writing; -1 if it is free or only read.", nullptr},
    {"is_foreign", get_is_foreign, nullptr, "True if memarray did not allocate the memory.", nullptr},
    {"escaped_views", get_escaped_views, set_escaped_views,
     "The policy for views that outlive their lease: 'snapshot', 'error' or 'alias'.", nullptr},
    {"_memory_type", get_memory_type, nullptr, nullptr, nullptr},
    {"_dtype_name", get_dtype_name, nullptr, nullptr, nullptr},
    {"_typestr", get_typestr, nullptr, nullptr, nullptr},
    {"_device", get_device, nullptr, nullptr, nullptr},
    {"_segment", get_segment, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace memarray::python
