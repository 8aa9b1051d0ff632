#pragma once

#include <memarray/state/lease.hpp>

#include <Python.h>

namespace memarray::python {

int add_lease_type(PyObject* module);
/// Returns a new, unopened lease.
PyObject* make_lease(detail::ArrayStatePtr state, detail::LeaseCore::Kind kind, LeaseOptions const& options);
/// Returns the lease, borrowed; null without an error for other objects.
detail::LeaseCore* lease_of(PyObject* object);

/// Reads a device number: an integer or `__index__` object, 0 or more, no bool.
bool read_device_id(PyObject* object, int& id);
/// Reads `device=`: None (no change), a `DeviceType`, or an object whose `str` names a device.
bool read_device(PyObject* object, std::optional<Device>& device);
/// Reads a DLPack device type and a device id (None: the array's own).
bool read_dlpack_device(PyObject* type, PyObject* id, detail::ArrayState const& state, Device& device);
/// Reads `stream=`: None (the default stream), an integer, or an object for `stream_of`.
bool read_stream(PyObject* object, StreamChoice& stream);
/// Reads `timeout=`: seconds, or None to wait until Ctrl-C.
bool read_timeout(PyObject* object, Timeout& timeout);
/// Like `line_of_caller`, but empty unless leases are traced.
std::string traced_location();
/// Returns "file:line (function)" of the Python frame; empty without one.
std::string line_of_caller();

}  // namespace memarray::python
