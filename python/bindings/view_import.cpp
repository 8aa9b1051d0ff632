#include "view_import.hpp"

#include "arguments.hpp"
#include "array_type.hpp"
#include "errors.hpp"
#include "helpers.hpp"
#include "import_buffer.hpp"
#include "import_tensor.hpp"
#include "lease_type.hpp"
#include "numpy_array.hpp"
#include "py_ref.hpp"
#include "struct_dtype.hpp"
#include "view_object.hpp"

#include <memarray/array/import_dlpack.hpp>

#include <array>
#include <cstring>
#include <utility>

namespace memarray::python {
namespace {

using detail::ViewCore;

Signature<1> from_dlpack_signature("from_dlpack", {"copy"}, 0);

/// Of a plain NumPy array. 1: `result` is the view, or null with the error set; 0: it is none.
int try_array(PyObject* object, Copy copy, PyObject*& result) {
  auto const array = look_at_numpy_array(object);
  if (!array) return 0;
  result = finish(object, copy, [&] {
    detail::ForeignMemory const memory = memory_of(*array);
    return detail::import_memory(memory, keeper_of(object));
  });
  return 1;
}

bool is_instance(PyTypeObject* type, char const* name) {
  PyObject* const all = type->tp_mro;
  for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all); ++i) {
    auto const* const base = reinterpret_cast<PyTypeObject const*>(PyTuple_GET_ITEM(all, i));
    if (std::strcmp(base->tp_name, name) == 0) return true;
  }
  return false;
}

/// Of a NumPy array that is not plain: of a class of its own, or with a dtype that DLPack does not say (bfloat16),
/// whose refusals are in our words. 1 and 0 as above.
int try_other_array(PyObject* object, Copy copy, PyObject*& result) {
  result = nullptr;
  if (!is_instance(Py_TYPE(object), "numpy.ndarray")) return 0;
  // Its mask is in another array, which nothing that lends memory speaks of.
  if (is_instance(Py_TYPE(object), "MaskedArray")) {
    PyErr_SetString(
        PyExc_BufferError,
        "a view would lose the mask of this masked array: take x.filled(value), or x.data for all elements, "
        "also those under the mask");
    return 1;
  }
  ViewCore core;
  // Its attributes may refer to the view, which the tensor of NumPy's `__dlpack__` would hide from the collector.
  if (auto const array = look_at_numpy_subclass(object)) {
    if (import_collected(object, memory_of(*array), core))
      result = finish(object, copy, [&] { return std::move(core); });
    return 1;
  }
  if (try_dlpack(object, copy, result) != 0 && result) return 1;
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_TypeError))
    return 1;
  PyErr_Clear();
  if (import_array_interface(object, core))
    result = finish(object, copy, [&] { return std::move(core); });
  else if (!PyErr_Occurred())
    PyErr_SetString(PyExc_TypeError, "this NumPy array has no __array_interface__");
  return 1;
}

/// A view of what is memarray's own. 1 and 0 as above.
int try_own(PyObject* object, Copy copy, PyObject*& result) {
  result = nullptr;
  if (is_view(object)) {
    ViewCore const& view = view_of(object);
    view.check_open();
    PyObject* const owner = owner_of_view(object);
    result = finish(owner, copy, [&view] { return view; });
    Py_XDECREF(owner);
    return 1;
  }
  detail::State* const state = unwrap_state(object);
  detail::LeaseCore* const lease = state ? nullptr : lease_of(object);
  if (!state && !lease) return 0;
  PyObject* const view = PyObject_CallMethod(object, "view", nullptr);
  if (!view) return 1;
  result = copy == Copy::always ? PyObject_CallMethod(view, "copy", nullptr) : Py_NewRef(view);
  Py_DECREF(view);
  return 1;
}

}  // namespace

bool init_view_import() { return init_import_tensor() && from_dlpack_signature.intern(); }

bool read_copy(PyObject* object, Copy& copy) {
  if (object != Py_None && !PyBool_Check(object)) {
    PyErr_Format(PyExc_TypeError, "copy must be None, True or False, not %R", object);
    return false;
  }
  copy = object == Py_None ? Copy::allowed : object == Py_True ? Copy::always : Copy::never;
  return true;
}

PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  if (given != 1) return PyErr_Format(PyExc_TypeError, "from_dlpack() takes one positional argument, not %zd", given);
  PyObject* const object = args[0];
  std::array<PyObject*, 1> slots{Py_None};
  Copy copy = Copy::allowed;
  if (!from_dlpack_signature.parse(args + 1, 0, keywords, slots) || !read_copy(slots[0], copy)) return nullptr;
  return guarded([&]() -> PyObject* {
    PyObject* result = nullptr;
    if (try_array(object, copy, result) != 0 || try_own(object, copy, result) != 0 ||
        try_other_array(object, copy, result) != 0 || try_dlpack(object, copy, result) != 0)
      return result;
    return PyErr_Format(PyExc_TypeError,
                        "from_dlpack takes a DLPack capsule or an object with __dlpack__, not %R: from_buffer and "
                        "from_numpy take others",
                        object);
  });
}

int import_view(PyObject* object, Copy copy, PyObject*& result) {
  result = nullptr;
  if (try_array(object, copy, result) != 0 || try_own(object, copy, result) != 0 ||
      try_other_array(object, copy, result) != 0 || try_dlpack(object, copy, result) != 0)
    return 1;
  ViewCore core;
  bool const found = import_buffer(object, nullptr, core) ||
                     (!PyErr_Occurred() && import_array_interface(object, core)) ||
                     (!PyErr_Occurred() && import_cuda_array_interface(object, core));
  if (found) result = finish(object, copy, [&] { return std::move(core); });
  return found || PyErr_Occurred() ? 1 : 0;
}

PyObject* import_any(PyObject* object, PyObject* copy_object) {
  Copy copy = Copy::allowed;
  if (!read_copy(copy_object, copy)) return nullptr;
  return guarded([&]() -> PyObject* {
    PyObject* result = nullptr;
    if (import_view(object, copy, result) != 0) return result;
    return PyErr_Format(PyExc_TypeError,
                        "a BufferView is made of what lends memory (__dlpack__, the buffer protocol, "
                        "__array_interface__, __cuda_array_interface__), which %R does not",
                        object);
  });
}

PyObject* from_buffer(PyObject*, PyObject* args, PyObject* keywords) {
  static char const* const names[] = {"obj", "dtype", nullptr};
  PyObject* object = nullptr;
  PyObject* dtype_object = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O", const_cast<char**>(names), &object, &dtype_object))
    return nullptr;
  return guarded([&]() -> PyObject* {
    DType const* const dtype = dtype_object == Py_None ? nullptr : read_dtype(dtype_object);
    if (!dtype && PyErr_Occurred()) return nullptr;
    ViewCore core;
    if (import_buffer(object, dtype, core)) return make_view(std::move(core), object);
    if (PyErr_Occurred()) return nullptr;
    return PyErr_Format(PyExc_TypeError, "from_buffer takes what offers the buffer protocol, not %R", object);
  });
}

PyObject* from_numpy(PyObject*, PyObject* array) {
  return guarded([&]() -> PyObject* {
    PyObject* result = nullptr;
    if (try_array(array, Copy::never, result) != 0) return result;
    if (try_other_array(array, Copy::never, result) != 0) return result;
    return PyErr_Format(PyExc_TypeError, "from_numpy takes a NumPy array, not %R", array);
  });
}

DType const* read_dtype(PyObject* object) {
  // NumPy would take several times as long to read a word as we to copy some hundred elements.
  if (PyUnicode_Check(object)) {
    Py_ssize_t length = 0;
    char const* const word = PyUnicode_AsUTF8AndSize(object, &length);
    DType const* const named = word ? find_dtype({word, static_cast<std::size_t>(length)}) : nullptr;
    if (named) return named;
    PyErr_Clear();
  }
  PyRef const description = PyRef::steal(call_helper("shipped_dtype_name", object));
  if (!description) return nullptr;
  DType const* const dtype = dtype_described(description.get());
  if (!dtype && PyErr_ExceptionMatches(PyExc_BufferError) && PyUnicode_Check(description.get()))
    PyErr_Format(PyExc_TypeError, "memarray has no dtype %R", object);
  return dtype;
}

}  // namespace memarray::python
