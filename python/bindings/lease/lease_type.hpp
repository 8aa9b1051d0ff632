#pragma once

#include <memarray/state/lease.hpp>

#include <Python.h>

namespace memarray::python {

/// Makes the type `memarray.Lease` and adds it to the module. −1 with the Python error set.
int add_lease_type(PyObject* module);
/// Returns a new, inert lease; null with the Python error set.
PyObject* make_lease(detail::ArrayStatePtr state, detail::LeaseCore::Kind kind, LeaseOptions const& options);
/// Returns the lease in `object`, borrowed. Null without an error for any other object.
detail::LeaseCore* lease_of(PyObject* object);

/// Reads a device number: an integer from 0 on, or an object with `__index__`, but no bool. False with the error set.
bool read_device_id(PyObject* object, int& id);
/// Reads `device=`: None (leaves `device` as it is), a string, a `memarray.Device`, or any object whose `str` is such a
/// string. False with the error set.
bool read_device(PyObject* object, std::optional<Device>& device);
/// Reads a DLPack device type and a device id (None: the array's own) as one device. False with the error set.
bool read_dlpack_device(PyObject* type, PyObject* id, detail::ArrayState const& state, Device& device);
/// Reads `stream=`: None (the default stream), an integer, a `memarray.Stream`, or an object with `__cuda_stream__`.
/// The choice keeps that object alive. False with the error set.
bool read_stream(PyObject* object, StreamChoice& stream);
/// Reads `timeout=`: seconds, or None to wait until Ctrl-C. False with the error set.
bool read_timeout(PyObject* object, Timeout& timeout);
/// Returns "file:line (function)" of the Python frame if leases are traced; else empty.
std::string python_location();
/// Returns "file:line (function)" of the Python frame; empty without a frame.
std::string line_of_caller();

}  // namespace memarray::python
