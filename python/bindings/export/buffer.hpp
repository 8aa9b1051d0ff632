#pragma once

#include <memarray/state/lease.hpp>

#include <Python.h>

namespace memarray::python {

/// Fills in a buffer (PEP 3118) of an open lease on the host: an export until `release_buffer`.
int lease_getbuffer(PyObject* self, detail::LeaseCore& lease, Py_buffer* view, int flags);
/// Implement `__array_interface__` and `__cuda_array_interface__`, as their docstrings say. The lease stays a live
/// export until it is collected.
PyObject* lease_array_interface(detail::LeaseCore& lease);
PyObject* lease_cuda_array_interface(detail::LeaseCore& lease);
/// Like `lease_array_interface`, with bfloat16 as plain bytes for ml_dtypes. Raises `BufferError` on a device. Throws
/// `LockError` if closed.
PyObject* lease_raw_interface(detail::LeaseCore& lease);
PyObject* to_tuple(std::int64_t const* values, int count);

}  // namespace memarray::python
