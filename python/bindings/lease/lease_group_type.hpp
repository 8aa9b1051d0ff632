#pragma once

#include <Python.h>

namespace memarray::python {

/// Adds `memarray.leases`.
int add_lease_group_type(PyObject* module);

}  // namespace memarray::python
