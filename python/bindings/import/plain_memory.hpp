#pragma once

#include <Python.h>

#include <string>

namespace memarray::python {

bool init_plain_memory();

/// Refuses to lose a mask or a unit: an attribute `mask`, `unit` or `units` of the object or its class, unless None or
/// callable. Fields of structured arrays do not count. Raises `BufferError`, or the attribute's error.
bool check_unannotated(PyObject* object);
/// Like `check_unannotated`; also refuses NumPy's text, dates and objects.
bool check_plain(PyObject* object);

/// Returns a dtype in words if the object is a NumPy array or scalar, else an empty text. Raises nothing.
std::string numpy_dtype_shown(PyObject* object);
/// Replaces NumPy's refusal to export a buffer, as of dates in records, by a `BufferError` that names the dtype.
void explain_missing_buffer(PyObject* object);

/// True if the type or a base is named `name`.
bool is_instance(PyTypeObject* type, char const* name);

}  // namespace memarray::python
