#pragma once

#include <Python.h>

namespace memarray::python {

bool init_plain_memory();

/// Refuses to lose a mask or a unit: an attribute `mask`, `unit` or `units` of the object or its class, unless None or
/// callable. Raises `BufferError`, or an error of the attribute. Fields of structured arrays do not count, and objects
/// without memory pass.
bool check_unannotated(PyObject* object);
/// Like `check_unannotated`, but also refuses NumPy's text, dates and objects, whose memory lacks their meaning.
bool check_plain(PyObject* object);

/// True if a type, or one of its bases, is named `name`.
bool is_instance(PyTypeObject* type, char const* name);

}  // namespace memarray::python
