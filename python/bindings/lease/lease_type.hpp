#pragma once

#include <memarray/state/lease.hpp>

#include <Python.h>

namespace memarray::python {

/// Makes the type `memarray.Lease` and adds it to the module. −1 with the Python error set.
int add_lease_type(PyObject* module);
/// A new, inert lease.
PyObject* make_lease(detail::StatePtr state, detail::LeaseCore::Kind kind, LeaseOptions const& options);
/// The lease in `object`, or null without an error.
detail::LeaseCore* lease_of(PyObject* object);

/// Reads `device=`: None, a string, a `memarray.Device`, or anything with `type` and `index`. False with the error set.
/// A device's number: an integer from 0, or what has `__index__`, but no bool.
bool read_device_id(PyObject* object, int& id);
bool read_device(PyObject* object, std::optional<Device>& device);
/// Reads DLPack's device type and an id (None: the array's own) as one device. False with the error set.
bool read_dlpack_device(PyObject* type, PyObject* id, detail::State const& state, Device& device);
/// Reads `stream=`: None (the default stream), an integer, a `memarray.Stream`, or an object with `__cuda_stream__`,
/// which is kept as long as the choice. False with the error set.
bool read_stream(PyObject* object, StreamChoice& stream);
/// Reads `timeout=`: seconds, or None for as long as it takes.
bool read_timeout(PyObject* object, Timeout& timeout);
/// "file:line (function)" of the Python frame, when leases are traced.
std::string python_location();
/// The same, whether or not.
std::string line_of_caller();

}  // namespace memarray::python
