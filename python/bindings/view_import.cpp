#include "view_import.hpp"

#include "arguments.hpp"
#include "array_type.hpp"
#include "capsule_names.hpp"
#include "errors.hpp"
#include "exchange_api.hpp"
#include "helpers.hpp"
#include "import_buffer.hpp"
#include "lease_type.hpp"
#include "numpy_array.hpp"
#include "view_object.hpp"

#include <memarray/array/import_dlpack.hpp>

#include <array>
#include <cstring>
#include <utility>

namespace memarray::python {
namespace {

using detail::ViewCore;

// Made at import, and kept as long as the process.
PyObject* dlpack_name = nullptr;
PyObject* newest_version = nullptr;
PyObject* version_keyword = nullptr;

Signature<1> from_dlpack_signature("from_dlpack", {"copy"}, 0);

/// A new Python view of what `import` returns, or a copy if that was asked for. `import` is called in any case.
template <class Import>
PyObject* finish(PyObject* owner, bool copy, Import const& import) {
  if (!copy) return make_view_of(owner, import);
  return make_view(import().copy(), nullptr);
}

/// Renaming a capsule and owning its tensor are one step; the tensor's deleter is called once from then on.
template <class Managed>
PyObject* take(PyObject* capsule, PyObject* owner, bool copy, bool writable = true) {
  auto* const tensor = static_cast<Managed*>(PyCapsule_GetPointer(capsule, CapsuleName<Managed>::offered));
  if (!tensor || PyCapsule_SetName(capsule, CapsuleName<Managed>::used) != 0) return nullptr;
  return finish(owner, copy, [=] {
    ViewCore view = detail::import_dlpack(tensor);
    if (!writable) return view.read_only();
    return view;
  });
}

/// What an object says beside an unversioned capsule, which cannot say read-only: JAX's arrays, which nothing may
/// change, refuse writable buffers. -1 with the error set if it is none that refuses.
int lends_for_writing(PyObject* object) {
  if (!PyObject_CheckBuffer(object)) return 1;
  Py_buffer buffer;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_STRIDED) == 0) {
    PyBuffer_Release(&buffer);
    return 1;
  }
  for (PyObject* const refusal : {PyExc_BufferError, PyExc_TypeError, PyExc_ValueError})
    if (PyErr_ExceptionMatches(refusal)) return PyErr_Clear(), 0;
  return -1;
}

/// `owner` is whom it came from, or the capsule itself.
PyObject* from_capsule(PyObject* capsule, PyObject* owner, bool copy) {
  char const* const name = PyCapsule_GetName(capsule);
  if (!name && PyErr_Occurred()) return nullptr;
  if (name && std::strcmp(name, CapsuleName<DLManagedTensorVersioned>::offered) == 0)
    return take<DLManagedTensorVersioned>(capsule, owner, copy);
  if (name && std::strcmp(name, CapsuleName<DLManagedTensor>::offered) == 0) {
    int const writable = lends_for_writing(owner);
    if (writable < 0) return nullptr;
    return take<DLManagedTensor>(capsule, owner, copy, writable == 1);
  }
  if (name && std::strncmp(name, "used_dltensor", 13) == 0)
    PyErr_SetString(PyExc_BufferError, "this capsule's tensor was taken already: ask for a new one with __dlpack__()");
  else
    PyErr_Format(PyExc_BufferError, "a capsule named '%s' holds no DLPack tensor", name ? name : "NULL");
  return nullptr;
}

/// The capsule of an object with `__dlpack__`: the newest that it can make.
PyObject* ask_for_capsule(PyObject* method) {
  PyObject* const args[] = {newest_version};
  PyObject* capsule = PyObject_Vectorcall(method, args, 0, version_keyword);
  // Producers from before max_version do not know the keyword.
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = PyObject_CallNoArgs(method);
  }
  if (capsule && !PyCapsule_CheckExact(capsule)) {
    PyErr_Format(PyExc_TypeError, "__dlpack__() returned %R, which is no capsule", capsule);
    Py_CLEAR(capsule);
  }
  return capsule;
}

/// False if the object is to be asked over `__dlpack__`.
bool try_table(DLPackExchangeAPI const& api, PyObject* object, bool copy, PyObject*& result) {
  DLManagedTensorVersioned* tensor = nullptr;
  bool const lent = api.managed_tensor_from_py_object_no_sync(object, &tensor) == 0 && tensor;
  if (!lent) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_BufferError, "%R lent no tensor, and did not say why", object);
    return true;
  }
  // Another version's may be anything, and is refused.
  bool const known = tensor->version.major == DLPACK_MAJOR_VERSION;
  Lending const lending = known ? how_it_lends(object, tensor->dl_tensor.dtype.code) : Lending::elements;
  if (lending == Lending::elements) {
    result = finish(object, copy, [tensor] { return detail::import_dlpack(tensor); });
    return true;
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (tensor->deleter) tensor->deleter(tensor);
  PyErr_Restore(type, value, traceback);
  return lending == Lending::wrong;
}

/// 1: `result` is the view, or null with the error set; 0: it has no `__dlpack__`.
int try_dlpack(PyObject* object, bool copy, PyObject*& result) {
  result = nullptr;
  PyObject* method = nullptr;
  if (PyCapsule_CheckExact(object)) {
    result = from_capsule(object, object, copy);
    return 1;
  }
  if (DLPackExchangeAPI const* const api = exchange_api_of(object); api && try_table(*api, object, copy, result))
    return 1;
  if (!find_attribute(object, dlpack_name, method)) return PyErr_Occurred() ? 1 : 0;
  PyObject* const capsule = ask_for_capsule(method);
  Py_DECREF(method);
  if (!capsule) return 1;
  // The capsule is let go of under a pending error, too.
  result = guarded([&] { return from_capsule(capsule, object, copy); });
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Py_DECREF(capsule);
  PyErr_Restore(type, value, traceback);
  return 1;
}

/// Of a plain NumPy array. 1 and 0 as above.
int try_array(PyObject* object, bool copy, PyObject*& result) {
  auto const memory = read_numpy_array(object);
  if (!memory) return 0;
  result = finish(object, copy, [&] { return detail::import_memory(*memory, keeper_of(object)); });
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
int try_other_array(PyObject* object, bool copy, PyObject*& result) {
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
  if (try_dlpack(object, copy, result) != 0 && result) return 1;
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_TypeError))
    return 1;
  PyErr_Clear();
  ViewCore core;
  if (import_array_interface(object, core))
    result = finish(object, copy, [&] { return std::move(core); });
  else if (!PyErr_Occurred())
    PyErr_SetString(PyExc_TypeError, "this NumPy array has no __array_interface__");
  return 1;
}

/// A view of what is memarray's own. 1 and 0 as above.
int try_own(PyObject* object, bool copy, PyObject*& result) {
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
  result = copy ? PyObject_CallMethod(view, "copy", nullptr) : Py_NewRef(view);
  Py_DECREF(view);
  return 1;
}

}  // namespace

bool init_view_import() {
  if (dlpack_name) return true;
  dlpack_name = PyUnicode_InternFromString("__dlpack__");
  newest_version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  version_keyword = Py_BuildValue("(s)", "max_version");
  return dlpack_name && newest_version && version_keyword && from_dlpack_signature.intern();
}

bool read_copy(PyObject* object, bool& copy) {
  if (object != Py_None && !PyBool_Check(object)) {
    PyErr_Format(PyExc_TypeError, "copy must be None, True or False, not %R", object);
    return false;
  }
  copy = object == Py_True;
  return true;
}

PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  if (given != 1) return PyErr_Format(PyExc_TypeError, "from_dlpack() takes one positional argument, not %zd", given);
  PyObject* const object = args[0];
  std::array<PyObject*, 1> slots{Py_None};
  bool copy = false;
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

int import_view(PyObject* object, bool copy, PyObject*& result) {
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
  bool copy = false;
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
    if (try_array(array, false, result) != 0) return result;
    if (try_other_array(array, false, result) != 0) return result;
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
  PyObject* const name = call_helper("shipped_dtype_name", object);
  char const* const word = name ? PyUnicode_AsUTF8(name) : nullptr;
  DType const* const dtype = word ? find_dtype(std::string_view(word)) : nullptr;
  if (word && !dtype) PyErr_Format(PyExc_TypeError, "memarray has no dtype %R", object);
  Py_XDECREF(name);
  return dtype;
}

}  // namespace memarray::python
