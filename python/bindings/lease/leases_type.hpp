#pragma once

#include <Python.h>

namespace memarray::python {

/// Makes `memarray.leases`, which opens several leases or none, and adds it to the module.
int add_leases_type(PyObject* module);

}  // namespace memarray::python
