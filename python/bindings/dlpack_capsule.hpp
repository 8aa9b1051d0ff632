#pragma once

#include <memarray/array/lease.hpp>
#include <memarray/base/device.hpp>

#include <Python.h>
#include <dlpack/dlpack.h>

namespace memarray::python {

/// What a consumer asks of `__dlpack__`.
struct DLPackRequest {
  bool versioned = false;
  bool copy = false;
};

/// Interns the keyword names of `__dlpack__`; once, at import.
bool init_dlpack_request();
/// Reads `__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)` for host memory. False with the
/// Python error set: `TypeError` (arguments), `ValueError` (a stream on the CPU), `BufferError` (another device).
bool parse_dlpack_request(PyObject* const* args, Py_ssize_t positional, PyObject* keywords, DLPackRequest& request);

/// A new capsule of what an open lease lends, which owns its tensor until a consumer renames it. Throws `LockError`
/// (not open) and `BufferError` as `detail::lend_versioned` does.
PyObject* make_capsule(detail::LeaseCore const& lease, DLPackRequest const& request);

/// (device type, device id), a new reference.
PyObject* dlpack_device(Device device);

}  // namespace memarray::python
