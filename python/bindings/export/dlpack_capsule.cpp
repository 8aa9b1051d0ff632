#include "export/dlpack_capsule.hpp"

#include "export/capsule_names.hpp"
#include "import/view_import.hpp"
#include "lease/lease_type.hpp"
#include "shown.hpp"
#include "signature.hpp"

#include <memarray/view/dlpack_tensor.hpp>

#include <optional>

namespace memarray::python {
namespace {

// Made when the module is loaded: the guard of a local static would be held while Python runs.
PyObject* cpu_device = nullptr;

Signature<4> dlpack_signature("__dlpack__", {"max_version", "dl_device", "copy", "stream"}, 0);

bool read_pair(PyObject* object, char const* what, long& first, long& second) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2) {
    PyErr_Format(PyExc_TypeError, "%s must be None or a tuple of two integers, not %s", what, shown(object).c_str());
    return false;
  }
  first = PyLong_AsLong(PyTuple_GET_ITEM(object, 0));
  if (first == -1 && PyErr_Occurred()) return false;
  second = PyLong_AsLong(PyTuple_GET_ITEM(object, 1));
  return second != -1 || !PyErr_Occurred();
}

// Fast path: does not convert the minor version.
bool read_max_version(PyObject* object, bool& versioned) {
  if (PyTuple_CheckExact(object) && PyTuple_GET_SIZE(object) == 2 && PyLong_CheckExact(PyTuple_GET_ITEM(object, 1))) {
    long const major = PyLong_AsLong(PyTuple_GET_ITEM(object, 0));
    versioned = major >= 1;
    return major != -1 || !PyErr_Occurred();
  }
  long major = 0;
  long minor = 0;
  if (!read_pair(object, "max_version", major, minor)) return false;
  versioned = major >= 1;
  return true;
}

// Streams are numbered as in the array API.
bool read_consumer_stream(PyObject* object, Device device, std::optional<StreamHandle>& stream) {
  if (device.is_cpu()) {
    if (!object) return true;
    if (!PyLong_Check(object))
      PyErr_Format(PyExc_TypeError, "stream must be None or an integer, not %s", shown(object).c_str());
    else
      PyErr_Format(
          PyExc_ValueError,
          "stream=%s was requested, but the exported memory is on the CPU, which has no streams: pass stream=None",
          shown(object).c_str());
    return false;
  }
  if (!object) {
    stream = get_legacy_stream();
    return true;
  }
  if (PyLong_Check(object) && !PyBool_Check(object)) {
    long long const number = PyLong_AsLongLong(object);
    if (number == -1) return !PyErr_Occurred();
    if (number == 0) {
      PyErr_SetString(PyExc_ValueError,
                      "stream=0 is ambiguous: pass 1 (of all threads), 2 (of this thread), or -1 for no order");
      return false;
    }
  }
  StreamChoice choice;
  if (!python::read_stream(object, choice)) return false;
  stream = choice.get();
  return true;
}

// `here`: the device of the exported tensor.
bool check_wanted_device(detail::Block const& block, Device here, DLPackRequest const& request,
                         detail::ExportRequest& export_request) {
  auto const [type, id] = *request.device;
  if (type == here.type && id == here.id) return true;
  if (type == kDLCPU && id == 0) {
    export_request.to_host = true;
    if (!block.is_on_device() || request.copy) return true;
    PyErr_Format(PyExc_BufferError,
                 "dl_device=(1, 0) was requested, but this memory is on %s, (%d, %d): move the array to the CPU with "
                 "move_memory(kDLCPU), or pass copy=True",
                 to_string(block.device()).c_str(), static_cast<int>(here.type), here.id);
    return false;
  }
  if (type == kDLCUDA && here.type == kDLExtDev && id == here.id) {
    PyErr_Format(
        PyExc_BufferError,
        "dl_device=(%ld, %ld) was requested, but this memory is a simulated device's, (%d, %d), which no GPU can "
        "use: to try consumers' code, simulated_devices(lend_as_cuda=True) exports it as CUDA memory",
        type, id, static_cast<int>(here.type), here.id);
    return false;
  }
  PyErr_Format(PyExc_BufferError,
               "dl_device=(%ld, %ld) was requested, but this memory is on %s, (%d, %d): move the array there with "
               "move_memory first",
               type, id, here.is_cpu() ? "the CPU" : to_string(block.device()).c_str(), static_cast<int>(here.type),
               here.id);
  return false;
}

// Deletes the tensor unless a consumer renamed the capsule. Touches no error state.
template <class Managed>
void destroy_capsule(PyObject* capsule) {
  char const* const name = PyCapsule_GetName(capsule);
  // Usually the name is the pointer that `make` passed.
  if (name != CapsuleName<Managed>::offered && !PyCapsule_IsValid(capsule, CapsuleName<Managed>::offered)) return;
  auto* const tensor = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (tensor->deleter) tensor->deleter(tensor);
}

template <class Managed>
PyObject* make(Managed* tensor) {
  PyObject* const capsule = PyCapsule_New(tensor, CapsuleName<Managed>::offered, destroy_capsule<Managed>);
  if (!capsule) tensor->deleter(tensor);
  return capsule;
}

}  // namespace

bool init_dlpack_request() {
  if (!cpu_device) cpu_device = Py_BuildValue("(ii)", static_cast<int>(kDLCPU), 0);
  return cpu_device && dlpack_signature.intern();
}

bool parse_dlpack_request(PyObject* const* args, Py_ssize_t positional, PyObject* keywords, DLPackRequest& request) {
  return dlpack_signature.visit(args, positional, keywords, [&](std::size_t slot, PyObject* value) {
    if (value == Py_None) return true;
    switch (slot) {
      case 0: return read_max_version(value, request.versioned);
      // Here, as `__index__` may close the view whose memory is compared later.
      case 1: return read_pair(value, "dl_device", request.device.emplace().first, request.device->second);
      case 2: {
        Copy copy = Copy::allowed;
        bool const read = read_copy(value, copy);
        request.copy = copy == Copy::always;
        return read;
      }
      default: request.stream = value; return true;
    }
  });
}

PyObject* make_capsule(detail::LeaseCore const& lease, DLPackRequest const& request) {
  detail::ExportRequest export_request{.copy = request.copy};
  std::optional<StreamHandle> stream;
  detail::Block const& block = lease.block();
  if (request.device || request.stream || block.uses() || block.memory_type() != MemoryType::normal) {
    Device const here = block.exported_device();
    if (request.device && !check_wanted_device(block, here, request, export_request)) return nullptr;
    if (!read_consumer_stream(request.stream, export_request.to_host ? Device{} : here, stream)) return nullptr;
    if (stream) export_request.stream = &*stream;
  }
  if (request.versioned) return make(detail::export_versioned(lease, export_request));
  return make(detail::export_unversioned(lease, export_request));
}

PyObject* make_capsule(detail::ViewCore const& view, DLPackRequest const& request) {
  detail::ExportRequest export_request{.copy = request.copy};
  std::optional<StreamHandle> stream;
  view.check_open();
  Device const here = view.on_device() ? view.block().exported_device() : Device{};
  if (request.device && !check_wanted_device(view.block(), here, request, export_request)) return nullptr;
  if (!read_consumer_stream(request.stream, export_request.to_host ? Device{} : here, stream)) return nullptr;
  if (stream) export_request.stream = &*stream;
  if (request.versioned) return make(detail::export_versioned(view, export_request));
  return make(detail::export_unversioned(view, export_request));
}

PyObject* dlpack_device(Device device) {
  if (device.is_cpu()) return Py_NewRef(cpu_device);
  return Py_BuildValue("(ii)", static_cast<int>(device.type), device.id);
}

}  // namespace memarray::python
