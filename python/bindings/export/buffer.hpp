#pragma once

#include <memarray/state/lease.hpp>

#include <Python.h>

namespace memarray::python {

/// Fills a buffer of an open lease on the host (PEP 3118). Each buffer is an export, counted until `release_buffer`. −1
/// with the Python error set.
int lease_getbuffer(PyObject* self, detail::LeaseCore& lease, Py_buffer* view, int flags);
/// Returns `__array_interface__` (version 3). The protocol has no release: reading it makes the lease itself a live
/// export until it is collected. Null with `AttributeError` set unless the lease is open, on the host, and of a dtype
/// that NumPy knows.
PyObject* lease_array_interface(detail::LeaseCore& lease);
/// Returns the CUDA array interface, version 3, with the lease's stream. Null with `AttributeError` set unless the
/// lease is open, on a CUDA device, and of a dtype that NumPy knows.
PyObject* lease_cuda_array_interface(detail::LeaseCore& lease);
/// Like `lease_array_interface`, but also for bfloat16, which NumPy does not know: as plain bytes of its size, which
/// the dtype of ml_dtypes can view. Null with `BufferError` set for memory on a device. Throws `LockError` unless the
/// lease is open.
PyObject* lease_raw_interface(detail::LeaseCore& lease);
/// Returns a new tuple of integers; null with the Python error set.
PyObject* to_tuple(std::int64_t const* values, int count);

}  // namespace memarray::python
