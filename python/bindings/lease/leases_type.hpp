#pragma once

#include <Python.h>

namespace memarray::python {

/// Makes the type `memarray.leases`, which opens several leases or none, and adds it to the module. −1 with the Python
/// error set.
int add_leases_type(PyObject* module);

}  // namespace memarray::python
