#pragma once

#include <Python.h>

namespace memarray::python {

/// Interns names; once, at import.
bool init_plain_memory();

/// True unless memarray would lose a mask or a unit of an object: an attribute `mask`, `unit` or `units` of its class
/// or its own that is neither None nor callable. False with `BufferError` set, or with what an attribute raises. Fields
/// of structured arrays are no such attributes. An object without memory passes.
bool check_unannotated(PyObject* object);
/// True if the memory of an object says all that its elements mean: false also for NumPy's text, dates and objects.
bool check_plain(PyObject* object);

/// True if a class of that name is among those of a type.
bool is_instance(PyTypeObject* type, char const* name);

}  // namespace memarray::python
