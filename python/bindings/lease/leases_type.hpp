#pragma once

#include <Python.h>

namespace memarray::python {

/// Adds the type `memarray.leases`, which opens several leases or none.
int add_leases_type(PyObject* module);

}  // namespace memarray::python
