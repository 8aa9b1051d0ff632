#pragma once

#include <Python.h>

namespace memarray::python {

/// Interns names. Call once, at import.
bool init_plain_memory();

/// True unless memarray would lose a mask or a unit of an object: an attribute `mask`, `unit` or `units`, of its own or
/// of its class, that is neither None nor callable. Fields of structured arrays do not count. An object without memory
/// passes. False with `BufferError` set, or with the error that an attribute raised.
bool check_unannotated(PyObject* object);
/// True if the memory of an object holds the full meaning of its elements. Checks as `check_unannotated` does, and also
/// refuses NumPy's text, dates and objects. False with the error set.
bool check_plain(PyObject* object);

/// True if a class named `name` is among the bases of a type, or is the type itself.
bool is_instance(PyTypeObject* type, char const* name);

}  // namespace memarray::python
