#include "import/view_import.hpp"

#include "array/array_type.hpp"
#include "array/struct_dtype.hpp"
#include "helpers.hpp"
#include "import/import_buffer.hpp"
#include "import/import_tensor.hpp"
#include "import/numpy_array.hpp"
#include "import/plain_memory.hpp"
#include "lease/lease_type.hpp"
#include "py_ref.hpp"
#include "python_errors.hpp"
#include "shown.hpp"
#include "signature.hpp"
#include "view/view_object.hpp"

#include <memarray/detail/view/import_dlpack.hpp>

#include <array>
#include <utility>

namespace memarray::python {
namespace {

using detail::ViewCore;

Signature<1> from_dlpack_signature("from_dlpack", {"copy"}, 0);
Signature<1> from_numpy_signature("from_numpy", {"device"}, 1);

/// Steals a view, which may be null, and returns it on `device` (None: where it is).
PyObject* on_device(PyObject* view, PyObject* device) {
  if (!view || device == Py_None) return view;
  PyRef const here = PyRef::steal(view);
  return PyObject_CallMethod(here.get(), "to_device", "(O)", device);
}

/// Imports an exact `numpy.ndarray` of a known dtype. `try_…` functions return 0 for objects of other kinds, else 1
/// with `result` or an error set.
int try_array(PyObject* object, Copy copy, PyObject*& result) {
  auto const array = look_at_numpy_array(object);
  if (!array) return 0;
  result = finish(object, copy, [&] {
    detail::ForeignMemory const memory = memory_of(*array);
    return detail::import_memory(memory, keep_alive_of(object));
  });
  return 1;
}

/// Imports a NumPy array of a subclass, or of a dtype that NumPy's DLPack lacks (bfloat16): without a call if
/// `__dlpack__` is NumPy's, else by DLPack, then by `__array_interface__`, and reports only the latter's error.
int try_other_array(PyObject* object, Copy copy, PyObject*& result) {
  result = nullptr;
  if (!is_instance(Py_TYPE(object), "numpy.ndarray")) return 0;
  ViewCore core;
  // An attribute of the array may refer to the view. A tensor from `__dlpack__` would hide this cycle from the garbage
  // collector.
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

int try_own(PyObject* object, Copy copy, PyObject*& result) {
  result = nullptr;
  if (is_view(object)) {
    ViewCore const& view = view_of(object);
    view.check_open();
    PyRef const owner = PyRef::steal(owner_of_view(object));
    result = finish(owner.get(), copy, [&view] { return view; });
    return 1;
  }
  detail::ArrayState* const state = unwrap_state(object);
  detail::LeaseCore* const lease = state ? nullptr : lease_of(object);
  if (!state && !lease) return 0;
  // A subclass may have another `view`.
  PyRef const owner = state ? PyRef::borrow(object) : PyRef::steal(wrap_state(lease->state_ptr()));
  if (owner) result = finish(owner.get(), copy, [&] { return state ? detail::view_of(*state) : ViewCore(*lease); });
  return 1;
}

}  // namespace

bool init_view_import() {
  return init_import_tensor() && init_plain_memory() && from_dlpack_signature.intern() && from_numpy_signature.intern();
}

bool read_copy(PyObject* object, Copy& copy) {
  if (object != Py_None && !PyBool_Check(object)) {
    PyErr_Format(PyExc_TypeError, "copy must be None, True or False, not %s", shown(object).c_str());
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
    if (try_array(object, copy, result) != 0 || try_own(object, copy, result) != 0) return result;
    if (!check_plain(object)) return nullptr;
    if (try_other_array(object, copy, result) != 0 || try_dlpack(object, copy, result) != 0) return result;
    return PyErr_Format(PyExc_TypeError,
                        "from_dlpack takes a DLPack capsule or an object with __dlpack__, not %s: from_buffer and "
                        "from_numpy take others",
                        shown(object).c_str());
  });
}

int import_view(PyObject* object, Copy copy, PyObject*& result) {
  result = nullptr;
  if (try_array(object, copy, result) != 0 || try_own(object, copy, result) != 0 || !check_plain(object) ||
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
                        "expected an object that exports memory (__dlpack__, the buffer protocol, __array_interface__, "
                        "__cuda_array_interface__), got %s",
                        shown(object).c_str());
  });
}

PyObject* from_buffer(PyObject*, PyObject* args, PyObject* keywords) {
  static char const* const names[] = {"obj", "dtype", "device", nullptr};
  PyObject* object = nullptr;
  PyObject* dtype_object = Py_None;
  PyObject* device = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OO", const_cast<char**>(names), &object, &dtype_object, &device))
    return nullptr;
  return guarded([&]() -> PyObject* {
    DType const* const dtype = dtype_object == Py_None ? nullptr : read_dtype(dtype_object);
    if (!dtype && PyErr_Occurred()) return nullptr;
    ViewCore core;
    if (!check_plain(object)) return nullptr;
    bool imported = import_buffer(object, dtype, core);
    // NumPy has no buffer for records with dates, or with fields in another order. Its interface names the field.
    if (!imported && !dtype && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_BufferError) &&
        is_instance(Py_TYPE(object), "numpy.ndarray")) {
      PyErr_Clear();
      imported = import_array_interface(object, core);
    }
    if (imported) return on_device(make_view(std::move(core), object), device);
    if (PyErr_Occurred()) return nullptr;
    return PyErr_Format(PyExc_TypeError, "from_buffer expects an object with the buffer protocol, got %s",
                        shown(object).c_str());
  });
}

PyObject* from_numpy(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  if (given < 1) return PyErr_Format(PyExc_TypeError, "from_numpy() takes a NumPy array");
  PyObject* const array = args[0];
  std::array<PyObject*, 1> slots{Py_None};
  if (!from_numpy_signature.parse(args + 1, given - 1, keywords, slots)) return nullptr;
  return guarded([&]() -> PyObject* {
    PyObject* result = nullptr;
    if (try_array(array, Copy::never, result) != 0) return on_device(result, slots[0]);
    if (!check_plain(array)) return nullptr;
    if (try_other_array(array, Copy::never, result) != 0) return on_device(result, slots[0]);
    return PyErr_Format(PyExc_TypeError, "from_numpy takes a NumPy array, not %s", shown(array).c_str());
  });
}

DType const* read_dtype(PyObject* object) {
  // Avoids `np.dtype`, which is slow.
  if (PyUnicode_Check(object)) {
    Py_ssize_t length = 0;
    char const* const word = PyUnicode_AsUTF8AndSize(object, &length);
    DType const* const named = word ? find_dtype({word, static_cast<std::size_t>(length)}) : nullptr;
    if (named) return named;
    PyErr_Clear();
  }
  PyRef const description = PyRef::steal(call_helper("memarray._numpy", "shipped_dtype_name", object));
  if (!description) return nullptr;
  DType const* const dtype = dtype_described(description.get());
  if (!dtype && PyErr_ExceptionMatches(PyExc_BufferError)) set_unknown_dtype(object);
  return dtype;
}

}  // namespace memarray::python
