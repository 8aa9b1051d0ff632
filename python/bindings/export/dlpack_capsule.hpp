#pragma once

#include <memarray/base/device.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <Python.h>
#include <dlpack/dlpack.h>

namespace memarray::python {

/// What a consumer asks of `__dlpack__`. Objects are borrowed, and read when it is known where the memory is.
struct DLPackRequest {
  bool versioned = false;
  bool copy = false;
  PyObject* stream = nullptr;
  PyObject* device = nullptr;
};

/// Interns the keyword names of `__dlpack__`; once, at import.
bool init_dlpack_request();
/// Reads `__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)`. False with `TypeError` set.
bool parse_dlpack_request(PyObject* const* args, Py_ssize_t positional, PyObject* keywords, DLPackRequest& request);

/// A new capsule of what an open lease lends, which owns its tensor until a consumer renames it. A consumer on a device
/// may use it in its stream at once. Null with the Python error set: `TypeError` (arguments), `ValueError` (a stream on
/// the CPU; stream 0, or of another device), `BufferError` (another device). Throws `LockError` (not open),
/// `BufferError` and `CudaError` as `detail::lend_versioned` does.
PyObject* make_capsule(detail::LeaseCore const& lease, DLPackRequest const& request);

/// The same for a view of memory that the host reaches. Throws `ValueError` (closed), `BufferError` as
/// `detail::lend_versioned` does.
PyObject* make_capsule(detail::ViewCore const& view, DLPackRequest const& request);

/// (device type, device id), a new reference.
PyObject* dlpack_device(Device device);

}  // namespace memarray::python
