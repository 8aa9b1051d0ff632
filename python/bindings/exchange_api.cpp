#include "exchange_api.hpp"

#include "errors.hpp"
#include "helpers.hpp"
#include "view_type.hpp"

#include <memarray/array/dlpack_tensor.hpp>
#include <memarray/array/import_dlpack.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/resource/stream_handle.hpp>

#include <utility>

namespace memarray::python {
namespace {

using detail::ViewCore;

constexpr char const* capsule_name = "dlpack_exchange_api";

// Made at import, and kept as long as the process.
PyObject* attribute_name = nullptr;
PyObject* lazy_names[3] = {};  // is_conj, is_neg, requires_grad

/// A tensor of the consumer's own, of host memory. It may call without the GIL, so that errors go to its function.
int allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
             void (*set_error)(void* error_context, char const* kind, char const* message)) noexcept {
  *out = nullptr;
  try {
    if (prototype->device.device_type != kDLCPU) throw BufferError("memarray allocates tensors on the CPU alone");
    DType const* const dtype = prototype->dtype.lanes == 1 ? find_dtype(prototype->dtype) : nullptr;
    if (!dtype) throw BufferError("memarray has no such dtype");
    if (prototype->ndim < 0 || prototype->ndim > StridedLayout::max_ndim || (prototype->ndim > 0 && !prototype->shape))
      throw BufferError("memarray has views of 0 to 16 dimensions");
    StridedLayout::Extents const shape(prototype->shape, static_cast<std::size_t>(prototype->ndim));
    *out = detail::lend_versioned(ViewCore::make(*dtype, shape));
    return 0;
  } catch (BufferError const& error) {
    set_error(error_context, "BufferError", error.what());
  } catch (OutOfMemoryError const& error) {
    set_error(error_context, "MemoryError", error.what());
  } catch (std::exception const& error) {
    set_error(error_context, "ValueError", error.what());
  }
  return -1;
}

int to_object(DLManagedTensorVersioned* tensor, void** out) noexcept {
  *out = guarded([&] { return make_view(detail::import_dlpack(tensor), nullptr); });
  return *out ? 0 : -1;
}

int current_stream(DLDeviceType, std::int32_t, void** stream) noexcept {
  // The default one.
  *stream = nullptr;
  return 0;
}

/// Whether the type or one of its bases has the attribute: most have not, and an AttributeError would cost more than
/// all else of an import.
bool is_in_type(PyTypeObject* type) {
  PyObject* const bases = type->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
    auto* const base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i));
#if PY_VERSION_HEX >= 0x030C0000
    PyObject* const names = PyType_GetDict(base);
#else
    PyObject* const names = Py_XNewRef(base->tp_dict);
#endif
    int const found = names ? PyDict_Contains(names, attribute_name) : 0;
    Py_XDECREF(names);
    if (found < 0) PyErr_Clear();
    if (found == 1) return true;
  }
  return false;
}

}  // namespace

bool init_exchange_api() {
  if (!attribute_name) attribute_name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  char const* const names[] = {"is_conj", "is_neg", "requires_grad"};
  for (int i = 0; i < 3; ++i)
    if (!lazy_names[i]) lazy_names[i] = PyUnicode_InternFromString(names[i]);
  return attribute_name && lazy_names[0] && lazy_names[1] && lazy_names[2];
}

DLPackExchangeAPI const* exchange_api_of(PyObject* object) {
  PyObject* capsule = nullptr;
  if (!is_in_type(Py_TYPE(object))) return nullptr;
  if (!find_attribute(reinterpret_cast<PyObject*>(Py_TYPE(object)), attribute_name, capsule)) {
    // Of a type that fails to say there is none, as far as that goes.
    PyErr_Clear();
    return nullptr;
  }
  void* const pointer =
      PyCapsule_IsValid(capsule, capsule_name) ? PyCapsule_GetPointer(capsule, capsule_name) : nullptr;
  Py_DECREF(capsule);
  auto const* header = static_cast<DLPackExchangeAPIHeader const*>(pointer);
  // A newer library keeps the tables of older versions behind its own.
  while (header && header->version.major > DLPACK_MAJOR_VERSION) header = header->prev_api;
  if (!header || header->version.major != DLPACK_MAJOR_VERSION) return nullptr;
  auto const* const table = reinterpret_cast<DLPackExchangeAPI const*>(header);
  return table->managed_tensor_from_py_object_no_sync ? table : nullptr;
}

Lending how_it_lends(PyObject* object) {
  for (PyObject* const name : lazy_names) {
    PyObject* attribute = nullptr;
    if (!find_attribute(object, name, attribute)) {
      PyErr_Clear();
      return Lending::elements;
    }
    PyObject* const value = PyCallable_Check(attribute) ? PyObject_CallNoArgs(attribute) : Py_NewRef(attribute);
    Py_DECREF(attribute);
    bool const is_set = value == Py_True;
    Py_XDECREF(value);
    PyErr_Clear();
    if (!is_set) continue;
    if (name != lazy_names[1]) return Lending::refuses;
    PyErr_Format(PyExc_BufferError, "%R is negated lazily: its memory holds the opposite numbers; call resolve_neg()",
                 object);
    return Lending::wrong;
  }
  return Lending::elements;
}

DLManagedTensorVersioned* lend_over_table(detail::LeaseCore const& lease) {
  detail::Block const& block = lease.block();
  if (!block.uses() || block.lent_device().is_cpu()) return detail::lend_versioned(lease);
  StreamHandle const stream = get_legacy_stream();
  return detail::lend_versioned(lease, {.stream = &stream});
}

DLManagedTensorVersioned* lend_over_table(ViewCore const& view) {
  if (!view.on_device()) return detail::lend_versioned(view);
  StreamHandle const stream = get_legacy_stream();
  return detail::lend_versioned(view, {.stream = &stream});
}

int add_exchange_api(PyTypeObject* type, DLPackExchangeAPI& table, DLPackManagedTensorFromPyObjectNoSync lend,
                     DLPackDLTensorFromPyObjectNoSync look) {
  table = {.header = {.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, .prev_api = nullptr},
           .managed_tensor_allocator = allocate,
           .managed_tensor_from_py_object_no_sync = lend,
           .managed_tensor_to_py_object_no_sync = to_object,
           .dltensor_from_py_object_no_sync = look,
           .current_work_stream = current_stream};
  PyObject* const capsule = PyCapsule_New(&table, capsule_name, nullptr);
  // The type is not shown to anybody yet.
  int const set = capsule ? PyDict_SetItem(type->tp_dict, attribute_name, capsule) : -1;
  Py_XDECREF(capsule);
  PyType_Modified(type);
  return set;
}

}  // namespace memarray::python
