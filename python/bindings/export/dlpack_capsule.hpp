#pragma once

#include <memarray/base/device.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <Python.h>
#include <dlpack/dlpack.h>

#include <optional>
#include <utility>

namespace memarray::python {

/// The end of docstrings of `__dlpack__`.
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
  std::optional<std::pair<long, long>> device{};  ///< DLPack type and id
};

bool init_dlpack_request();
bool parse_dlpack_request(PyObject* const* args, Py_ssize_t positional, PyObject* keywords, DLPackRequest& request);

/// Returns a new capsule, which owns its tensor until a consumer renames it. The memory is ready in the requested
/// stream. Raises `TypeError`, `ValueError` (stream 0, a stream of another device or for the CPU), `BufferError`
/// (another device). Throws `LockError` (lease not open), and as `detail::export_versioned` does.
PyObject* make_capsule(detail::LeaseCore const& lease, DLPackRequest const& request);

/// Throws `ValueError`, not `LockError`, if the view is closed.
PyObject* make_capsule(detail::ViewCore const& view, DLPackRequest const& request);

/// Returns a new (device type, device id).
PyObject* dlpack_device(Device device);

}  // namespace memarray::python
