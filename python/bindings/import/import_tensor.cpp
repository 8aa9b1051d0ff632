#include "import/import_tensor.hpp"

#include "export/capsule_names.hpp"
#include "export/exchange_api.hpp"
#include "helpers.hpp"
#include "import/import_buffer.hpp"
#include "import/tensor_storage.hpp"
#include "py_ref.hpp"
#include "python_errors.hpp"
#include "shown.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/driver/stream_choice.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>

namespace memarray::python {
namespace {

using detail::Block;
using detail::ViewCore;

PyObject* dlpack_name = nullptr;
PyObject* device_name = nullptr;
PyObject* newest_version = nullptr;
PyObject* legacy_stream = nullptr;
PyObject* keyword_names[3] = {};  // max_version, stream, copy

Block::KeepAlive keep_alive_of_storage(PyRef const& storage) noexcept {
  return storage ? keep_alive_of(storage.get()) : Block::KeepAlive{};
}

ViewCore import_tensor(DLManagedTensorVersioned* tensor, PyRef const& storage, Copy copy,
                       StreamHandle const& ready_in = {}) {
  bool const is_copied =
      tensor->version.major == DLPACK_MAJOR_VERSION && (tensor->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
  ViewCore view = detail::import_dlpack(tensor, ready_in, keep_alive_of_storage(storage));
  if (is_copied && copy == Copy::never)
    throw BufferError(
        "the producer returned a copy although copy=False was requested; call again with copy=None to accept it");
  return view;
}

/// Takes the tensor and renames the capsule in one step. memarray then calls the deleter, exactly once.
template <class Managed>
Managed* take(PyObject* capsule) {
  Managed* tensor = nullptr;
#if defined(Py_GIL_DISABLED)
  Py_BEGIN_CRITICAL_SECTION(capsule);
#endif
  tensor = static_cast<Managed*>(PyCapsule_GetPointer(capsule, CapsuleName<Managed>::offered));
  if (tensor && PyCapsule_SetName(capsule, CapsuleName<Managed>::used) != 0) tensor = nullptr;
#if defined(Py_GIL_DISABLED)
  Py_END_CRITICAL_SECTION();
#endif
  return tensor;
}

/// Returns 1 if the memory may be written, else 0. Unversioned capsules have no read-only flag, but immutable arrays of
/// JAX refuse writable buffers.
int exports_for_writing(PyObject* object) {
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

/// Imports a capsule of `owner`, which may be the capsule itself.
PyObject* from_capsule(PyObject* capsule, PyObject* owner, Copy copy) {
  char const* const name = PyCapsule_GetName(capsule);
  if (!name && PyErr_Occurred()) return nullptr;
  if (name && std::strcmp(name, CapsuleName<DLManagedTensorVersioned>::offered) == 0) {
    PyRef const storage = storage_of(owner);
    auto* const tensor = take<DLManagedTensorVersioned>(capsule);
    return tensor ? finish(owner, copy, [&] { return import_tensor(tensor, storage, copy); }) : nullptr;
  }
  if (name && std::strcmp(name, CapsuleName<DLManagedTensor>::offered) == 0) {
    PyRef const storage = storage_of(owner);
    int const writable = exports_for_writing(owner);
    auto* const tensor = writable < 0 ? nullptr : take<DLManagedTensor>(capsule);
    if (!tensor) return nullptr;
    return finish(owner, copy, [&] {
      ViewCore view = detail::import_dlpack(tensor, {}, keep_alive_of_storage(storage));
      return writable == 1 ? view : view.read_only();
    });
  }
  if (name && std::strncmp(name, "used_dltensor", 13) == 0)
    PyErr_SetString(PyExc_BufferError, "this capsule was already consumed: request a new one with __dlpack__()");
  else
    PyErr_Format(PyExc_BufferError, "a capsule named '%.80s' holds no DLPack tensor", name ? name : "NULL");
  return nullptr;
}

/// Returns 1 if the memory must be made ready in the default stream, else 0.
int is_exported_in_streams(PyObject* object) {
  PyRef method;
  // Old producers of host memory lack `__dlpack_device__`.
  if (!find_attribute(object, device_name, method)) return PyErr_Occurred() ? -1 : 0;
  PyRef const answer = PyRef::steal(PyObject_CallNoArgs(method.get()));
  if (!answer) return -1;
  // Ignores the id, which is None in pandas: the tensor has it.
  bool const is_pair = PyTuple_Check(answer.get()) && PyTuple_GET_SIZE(answer.get()) == 2;
  int const type = is_pair ? static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(answer.get(), 0))) : -1;
  bool const read = is_pair && !PyErr_Occurred();
  if (!read)
    PyErr_Format(PyExc_TypeError, "__dlpack_device__() returned %s, and not (device type, device id)",
                 shown(answer.get()).c_str());
  if (!read) return -1;
  return detail::is_used_in_streams({static_cast<DLDeviceType>(type), 0}) ? 1 : 0;
}

/// Calls `__dlpack__` without the keywords that are null.
PyObject* call_with(PyObject* method, std::array<PyObject*, 3> const& values) {
  std::array<PyObject*, 3> args{};
  std::array<PyObject*, 3> names{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    args[count] = values[i];
    names[count++] = keyword_names[i];
  }
  PyRef const keywords = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  if (!keywords) return nullptr;
  for (std::size_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(keywords.get(), static_cast<Py_ssize_t>(i), Py_NewRef(names[i]));
  return PyObject_Vectorcall(method, args.data(), 0, keywords.get());
}

/// Requests the newest kind of capsule that `__dlpack__` can make.
PyRef ask_for_capsule(PyObject* object, PyObject* method, Copy copy) {
  int const in_streams = is_exported_in_streams(object);
  if (in_streams < 0) return {};
  PyObject* const stream = in_streams == 1 ? legacy_stream : nullptr;
  // Some producers lack `copy`, or also `max_version`. Producers without `stream` must have the memory ready in the
  // default stream. TensorFlow accepts no keyword.
  std::array<PyObject*, 3> const asked[] = {{newest_version, stream, Py_False},
                                            {newest_version, stream, nullptr},
                                            {nullptr, stream, nullptr},
                                            {newest_version, nullptr, nullptr},
                                            {nullptr, nullptr, nullptr}};
  std::size_t const end = stream ? std::size(asked) : 3;
  PyRef capsule;
  for (std::size_t i = copy == Copy::never ? 0 : 1; !capsule && i < end; ++i) {
    bool const again = !PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError) ||
                       (stream && PyErr_ExceptionMatches(PyExc_RuntimeError));
    if (!again) break;
    PyErr_Clear();
    capsule = PyRef::steal(call_with(method, asked[i]));
  }
  if (!capsule || PyCapsule_CheckExact(capsule.get())) return capsule;
  PyErr_Format(PyExc_TypeError, "__dlpack__() returned %s, which is not a capsule", shown(capsule.get()).c_str());
  ErrorAside const aside;
  capsule = {};
  return {};
}

/// Reads the stream for which the consumer must wait, as the table does not synchronize.
bool read_work_stream(DLPackExchangeAPI const& api, DLDevice device, StreamHandle& stream) {
  void* address = nullptr;
  if (api.current_work_stream && api.current_work_stream(device.device_type, device.device_id, &address) != 0) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_BufferError, "its library did not report the stream in which it works");
    return false;
  }
  // NULL stands for CUDA's default stream.
  stream = address ? StreamChoice::numbered(reinterpret_cast<std::int64_t>(address)).get() : get_legacy_stream();
  return true;
}

void drop_tensor(DLManagedTensorVersioned* tensor) {
  ErrorAside const aside;
  if (tensor->deleter) tensor->deleter(tensor);
}

bool read_ready_in(DLPackExchangeAPI const& api, DLDevice device, StreamHandle& ready_in) {
  return !detail::is_used_in_streams(device) || read_work_stream(api, device, ready_in);
}

/// Finishes an import whose `ValueError`s concern the producer's stream.
template <class Import>
PyObject* finish_in_stream(PyObject* object, Copy copy, Import const& import) {
  return finish(object, copy, [&] {
    try {
      return import();
    } catch (ValueError const& error) {
      throw BufferError(std::string("the stream that its library works in cannot be waited for: ") + error.what());
    }
  });
}

void set_unexplained(PyObject* object) {
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_BufferError, "a %.200s returned no tensor and no error", Py_TYPE(object)->tp_name);
}

/// Like `try_table`, for a borrowed tensor whose memory `storage` keeps alive.
bool try_borrowed(DLPackExchangeAPI const& api, PyObject* object, PyRef const& storage, Copy copy, PyObject*& result) {
  DLTensor tensor{nullptr, {kDLCPU, 0}, 0, {}, nullptr, nullptr, 0};
  if (api.dltensor_from_py_object_no_sync(object, &tensor) != 0) return set_unexplained(object), true;
  if (ExportMode const mode = export_mode(object, tensor.dtype.code); mode != ExportMode::elements)
    return mode == ExportMode::wrong;
  StreamHandle ready_in;
  if (!read_ready_in(api, tensor.device, ready_in)) return true;
  result = finish_in_stream(
      object, copy, [&] { return detail::import_dlpack(tensor, true, keep_alive_of(storage.get()), ready_in); });
  return true;
}

/// Imports through the exchange table; false if the import must use `__dlpack__`.
bool try_table(DLPackExchangeAPI const& api, PyObject* object, Copy copy, PyObject*& result) {
  PyRef const storage = storage_of(object);
  if (storage && api.dltensor_from_py_object_no_sync && is_plain_tensor(object))
    return try_borrowed(api, object, storage, copy, result);
  DLManagedTensorVersioned* tensor = nullptr;
  bool const got_tensor = api.managed_tensor_from_py_object_no_sync(object, &tensor) == 0 && tensor;
  if (!got_tensor) return set_unexplained(object), true;
  // The import refuses another major version, whose layout is unknown.
  bool const known = tensor->version.major == DLPACK_MAJOR_VERSION;
  ExportMode const mode = known ? export_mode(object, tensor->dl_tensor.dtype.code) : ExportMode::elements;
  if (mode != ExportMode::elements) {
    drop_tensor(tensor);
    return mode == ExportMode::wrong;
  }
  StreamHandle ready_in;
  try {
    if (known && !read_ready_in(api, tensor->dl_tensor.device, ready_in)) return drop_tensor(tensor), true;
  } catch (...) {
    drop_tensor(tensor);
    throw;
  }
  result = finish_in_stream(object, copy, [&] { return import_tensor(tensor, storage, copy, ready_in); });
  return true;
}

/// Turns another library's refusal, which may contain a call stack, into a `BufferError` of one line. Keeps other
/// errors.
void shorten_refusal(PyObject* object) {
  if (is_own_error(PyErr_Occurred())) return;
  bool const is_buffer_error = PyErr_ExceptionMatches(PyExc_BufferError) != 0;
  bool const is_refusal = is_buffer_error || PyErr_ExceptionMatches(PyExc_RuntimeError) ||
                          PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError);
  if (!is_refusal || PyErr_ExceptionMatches(PyExc_RecursionError)) return;
  PyRef error = take_error();
  std::string const line = first_line(error.get());
  PyRef const words = PyRef::steal(PyObject_Str(error.get()));
  bool const is_short = words && PyUnicode_CompareWithASCIIString(words.get(), line.c_str()) == 0;
  PyErr_Clear();
  // PyTorch's RuntimeErrors become `BufferError`s; other short errors stay.
  bool const is_torchs = PyErr_GivenExceptionMatches(error.get(), PyExc_RuntimeError) && exchange_api_of(object);
  if (is_short && !is_torchs) return set_error(std::move(error));
  error = {};
  PyErr_Format(PyExc_BufferError, "the memory of this %.100s cannot be viewed: %s", Py_TYPE(object)->tp_name,
               line.c_str());
}

}  // namespace

bool init_import_tensor() {
  if (!init_tensor_storage()) return false;
  if (dlpack_name) return true;
  dlpack_name = PyUnicode_InternFromString("__dlpack__");
  device_name = PyUnicode_InternFromString("__dlpack_device__");
  newest_version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  legacy_stream = PyLong_FromLong(1);
  char const* const names[] = {"max_version", "stream", "copy"};
  for (int i = 0; i < 3; ++i)
    if (!keyword_names[i]) keyword_names[i] = PyUnicode_InternFromString(names[i]);
  return dlpack_name && device_name && newest_version && legacy_stream && keyword_names[0] && keyword_names[1] &&
         keyword_names[2];
}

int try_dlpack(PyObject* object, Copy copy, PyObject*& result) {
  result = nullptr;
  PyRef method;
  if (PyCapsule_CheckExact(object)) {
    result = from_capsule(object, object, copy);
    return 1;
  }
  if (DLPackExchangeAPI const* const api = exchange_api_of(object); api && try_table(*api, object, copy, result)) {
    if (!result) shorten_refusal(object);
    return 1;
  }
  if (!find_attribute(object, dlpack_name, method)) return PyErr_Occurred() ? 1 : 0;
  PyRef capsule = ask_for_capsule(object, method.get(), copy);
  if (!capsule) {
    shorten_refusal(object);
    return 1;
  }
  // Release the capsule even under a pending error.
  result = guarded([&] { return from_capsule(capsule.get(), object, copy); });
  ErrorAside const aside;
  capsule = {};
  return 1;
}

}  // namespace memarray::python
