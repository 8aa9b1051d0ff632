#pragma once

#include <memarray/state/lease.hpp>

#include <Python.h>

namespace memarray::python {

/// Fills a buffer of an open lease on the host (PEP 3118), a counted export until `release_buffer`.
int lease_getbuffer(PyObject* self, detail::LeaseCore& lease, Py_buffer* view, int flags);
/// Returns `__array_interface__`, version 3. It has no release: the lease becomes a live export until it is collected.
/// Raises `AttributeError` unless the lease is open, on the host and of a dtype that NumPy knows.
PyObject* lease_array_interface(detail::LeaseCore& lease);
/// Like `lease_array_interface`, for `__cuda_array_interface__`, version 3, on a CUDA device, with the lease's stream.
PyObject* lease_cuda_array_interface(detail::LeaseCore& lease);
/// Like `lease_array_interface`, but with bfloat16 as plain bytes, which ml_dtypes can view. Raises `BufferError` on a
/// device. Throws `LockError` unless the lease is open.
PyObject* lease_raw_interface(detail::LeaseCore& lease);
PyObject* to_tuple(std::int64_t const* values, int count);

}  // namespace memarray::python
