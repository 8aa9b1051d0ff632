#pragma once

#include <memarray/base/device.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <Python.h>
#include <dlpack/dlpack.h>

namespace memarray::python {

/// The request of a consumer to `__dlpack__`. Objects are borrowed, and read once the device of the memory is known.
struct DLPackRequest {
  bool versioned = false;
  bool copy = false;
  PyObject* stream = nullptr;
  PyObject* device = nullptr;
};

/// Interns the keyword names of `__dlpack__`. Call once, at import. False with the Python error set.
bool init_dlpack_request();
/// Reads the arguments of `__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)`. False with
/// `TypeError` set.
bool parse_dlpack_request(PyObject* const* args, Py_ssize_t positional, PyObject* keywords, DLPackRequest& request);

/// Returns a new capsule of an open lease's memory. It owns its tensor until a consumer renames it. A consumer on a
/// device may use the tensor in its stream at once. Null with the Python error set: `TypeError` (arguments),
/// `ValueError` (a stream on the CPU; stream 0, or of another device), `BufferError` (another device). Throws
/// `LockError` (not open), `BufferError` and `CudaError` as `detail::export_versioned` does.
PyObject* make_capsule(detail::LeaseCore const& lease, DLPackRequest const& request);

/// Returns a new capsule of a view's memory, on the host or on a device. Errors are those for a lease, with
/// `ValueError` thrown for a closed view in place of `LockError`.
PyObject* make_capsule(detail::ViewCore const& view, DLPackRequest const& request);

/// Returns a new reference to (device type, device id).
PyObject* dlpack_device(Device device);

}  // namespace memarray::python
