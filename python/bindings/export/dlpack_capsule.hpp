#pragma once

#include <memarray/base/device.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <Python.h>
#include <dlpack/dlpack.h>

namespace memarray::python {

/// The end of each docstring of `__dlpack__`.
#define MEMARRAY_DLPACK_KEYWORDS                                                                             \
  "\n\nThe keywords are those of the Python array API standard. stream: the consumer's stream, for CUDA an " \
  "address, 1, 2, or -1 for no order, for the CPU None. max_version: the newest version of DLPack that the " \
  "consumer reads; None asks for the unversioned struct. dl_device: the (device type, device id) where the " \
  "consumer needs the memory. copy: True asks for a copy of its own."

/// A consumer's request to `__dlpack__`. Objects are borrowed.
struct DLPackRequest {
  bool versioned = false;
  bool copy = false;
  PyObject* stream = nullptr;
  PyObject* device = nullptr;
};

bool init_dlpack_request();
bool parse_dlpack_request(PyObject* const* args, Py_ssize_t positional, PyObject* keywords, DLPackRequest& request);

/// Returns a new capsule of an open lease's memory, which owns its tensor until a consumer renames it. A consumer on a
/// device may use the tensor in its stream at once. Raises `TypeError`, `ValueError` (a stream on the CPU, 0, or of
/// another device) or `BufferError` (another device). Throws `LockError` (not open), and as `detail::export_versioned`
/// does.
PyObject* make_capsule(detail::LeaseCore const& lease, DLPackRequest const& request);

/// Like `make_capsule` of a lease, but throws `ValueError` for a closed view.
PyObject* make_capsule(detail::ViewCore const& view, DLPackRequest const& request);

/// Returns a new reference to (device type, device id).
PyObject* dlpack_device(Device device);

}  // namespace memarray::python
