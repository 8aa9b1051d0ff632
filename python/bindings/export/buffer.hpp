#pragma once

#include <memarray/state/lease.hpp>

#include <Python.h>

namespace memarray::python {

/// The buffer protocol of an open lease on the host: each view is an export, counted until `release_buffer`.
int lease_getbuffer(PyObject* self, detail::LeaseCore& lease, Py_buffer* view, int flags);
/// `__array_interface__` (version 3). The protocol has no release: reading it makes the lease itself a live export
/// until it is collected.
PyObject* lease_array_interface(detail::LeaseCore& lease);
/// The same also for bfloat16, which NumPy does not know: as plain bytes of its size, which ml_dtypes' dtype can view.
/// The CUDA array interface, version 3, with the lease's stream; null with `AttributeError` where it is none of CUDA's.
PyObject* lease_cuda_array_interface(detail::LeaseCore& lease);
PyObject* lease_raw_interface(detail::LeaseCore& lease);
/// A tuple of integers.
PyObject* to_tuple(std::int64_t const* values, int count);

}  // namespace memarray::python
