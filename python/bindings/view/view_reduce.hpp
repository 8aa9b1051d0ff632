#pragma once

#include <Python.h>

namespace memarray::python {

PyObject* view_sum(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords);
PyObject* view_mean(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords);
PyObject* view_min(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords);
PyObject* view_max(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords);
PyObject* view_plan(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords);
bool init_view_reduce();

}  // namespace memarray::python
