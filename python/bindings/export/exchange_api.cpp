#include "export/exchange_api.hpp"

#include "helpers.hpp"
#include "python_errors.hpp"
#include "shown.hpp"
#include "view/view_type.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/driver/stream_handle.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <utility>

namespace memarray::python {
namespace {

using detail::ViewCore;

constexpr char const* capsule_name = "dlpack_exchange_api";

PyObject* attribute_name = nullptr;
PyObject* lazy_names[3] = {};  // is_conj, is_neg, requires_grad

/// Allocates a host tensor. The caller may lack the GIL, so `set_error` receives errors.
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
    *out = detail::export_versioned(ViewCore::make(*dtype, shape));
    return 0;
  } catch (BufferError const& error) {
    set_error(error_context, "BufferError", error.what());
  } catch (OutOfMemoryError const& error) {
    set_error(error_context, "MemoryError", error.what());
  } catch (std::bad_alloc const& error) {
    set_error(error_context, "MemoryError", error.what());
  } catch (std::exception const& error) {
    set_error(error_context, "ValueError", error.what());
  }
  return -1;
}

int to_object(DLManagedTensorVersioned* tensor, void** out) noexcept {
  *out = nullptr;
  if (!tensor) {
    PyErr_SetString(PyExc_BufferError, "cannot import this DLPack tensor: it is NULL");
    return -1;
  }
  *out = guarded([&] { return make_view(detail::import_dlpack(tensor), nullptr); });
  return *out ? 0 : -1;
}

int current_stream(DLDeviceType, std::int32_t, void** stream) noexcept {
  *stream = nullptr;  // the default stream
  return 0;
}

/// Returns an attribute's value or a method's result; null on failure. Leaves only `MemoryError` and non-`Exception`
/// errors set.
PyRef ask(PyObject* object, PyObject* name) {
  PyRef const found = PyRef::steal(type_attribute(Py_TYPE(object), name));
  PyRef answer;
  if (found && PyType_HasFeature(Py_TYPE(found.get()), Py_TPFLAGS_METHOD_DESCRIPTOR)) {
    answer = PyRef::steal(PyObject_Vectorcall(found.get(), &object, 1, nullptr));
  } else if (found && Py_IS_TYPE(found.get(), &PyGetSetDescr_Type)) {
    auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    answer = PyRef::steal(PyGetSetDescr_Type.tp_descr_get(found.get(), object, type));
  } else if (PyRef attribute; find_attribute(object, name, attribute)) {
    bool const is_method = PyCallable_Check(attribute.get()) != 0;
    answer = is_method ? PyRef::steal(PyObject_CallNoArgs(attribute.get())) : std::move(attribute);
  }
  if (!answer) static_cast<void>(clear_ordinary_error());
  return answer;
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
  // A lookup in the type raises no AttributeError, which would cost more than an import.
  PyRef capsule = PyRef::steal(type_attribute(Py_TYPE(object), attribute_name));
  if (!capsule) return nullptr;
  if (!PyCapsule_CheckExact(capsule.get())) {
    if (!find_attribute(reinterpret_cast<PyObject*>(Py_TYPE(object)), attribute_name, capsule)) PyErr_Clear();
    if (!capsule) return nullptr;
  }
  bool const is_capsule = PyCapsule_CheckExact(capsule.get());
  void* const pointer = is_capsule ? PyCapsule_GetPointer(capsule.get(), capsule_name) : nullptr;
  if (!pointer) PyErr_Clear();
  auto const* header = static_cast<DLPackExchangeAPIHeader const*>(pointer);
  // Newer tables link to older ones.
  while (header && header->version.major > DLPACK_MAJOR_VERSION) header = header->prev_api;
  if (!header || header->version.major != DLPACK_MAJOR_VERSION) return nullptr;
  auto const* const table = reinterpret_cast<DLPackExchangeAPI const*>(header);
  return table->managed_tensor_from_py_object_no_sync ? table : nullptr;
}

bool defines_exchange_api(PyObject* object) {
  PyObject* const names = Py_TYPE(object)->tp_dict;
  return names && PyDict_Contains(names, attribute_name) == 1;
}

ExportMode export_mode(PyObject* object, std::uint8_t code) {
  bool const whole = code == kDLInt || code == kDLUInt || code == kDLBool;
  for (PyObject* const name : lazy_names) {
    // Only complex elements have the conjugate bit; integers and bools have no gradients.
    if (name == lazy_names[0] ? code != kDLComplex : name == lazy_names[2] && whole) continue;
    PyRef const answer = ask(object, name);
    // No attribute: no lazy states.
    if (!answer) return PyErr_Occurred() ? ExportMode::wrong : ExportMode::elements;
    if (answer.get() != Py_True) continue;
    if (name != lazy_names[1]) return ExportMode::refuses;
    PyErr_Format(PyExc_BufferError, "%s has its negative bit set; call resolve_neg()", shown(object).c_str());
    return ExportMode::wrong;
  }
  return ExportMode::elements;
}

bool check_instance(void* object, PyTypeObject* type) {
  auto* const given = static_cast<PyObject*>(object);
  if (given && PyObject_TypeCheck(given, type)) return true;
  PyErr_Format(PyExc_TypeError,
               "this exchange table is of %s: expected one, got %s; look the table up at the object's "
               "own type",
               type->tp_name, given ? type_name(given).c_str() : "NULL");
  return false;
}

DLManagedTensorVersioned* export_over_table(detail::LeaseCore const& lease) {
  detail::Block const& block = lease.block();
  if (!block.uses() || block.exported_device().is_cpu()) return detail::export_versioned(lease);
  StreamHandle const stream = get_legacy_stream();
  return detail::export_versioned(lease, {.stream = &stream});
}

DLManagedTensorVersioned* export_over_table(ViewCore const& view) {
  if (!view.on_device()) return detail::export_versioned(view);
  StreamHandle const stream = get_legacy_stream();
  return detail::export_versioned(view, {.stream = &stream});
}

int add_exchange_api(PyTypeObject* type, DLPackExchangeAPI& table, DLPackManagedTensorFromPyObjectNoSync export_tensor,
                     DLPackDLTensorFromPyObjectNoSync look) {
  table = {.header = {.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, .prev_api = nullptr},
           .managed_tensor_allocator = allocate,
           .managed_tensor_from_py_object_no_sync = export_tensor,
           .managed_tensor_to_py_object_no_sync = to_object,
           .dltensor_from_py_object_no_sync = look,
           .current_work_stream = current_stream};
  PyRef const capsule = PyRef::steal(PyCapsule_New(&table, capsule_name, nullptr));
  // No other code can see the type yet.
  int const set = capsule ? PyDict_SetItem(type->tp_dict, attribute_name, capsule.get()) : -1;
  PyType_Modified(type);
  return set;
}

}  // namespace memarray::python
