#include "reports.hpp"

#include "gil.hpp"

#include <Python.h>
#include <cxxabi.h>

#include <new>

namespace memarray::python {
namespace {

/// A new reference to the logger, or null without an error: without the `logging` module nobody listens.
PyObject* logger(char const* name) {
  PyObject* const modules = PyImport_GetModuleDict();
  PyObject* const logging = modules ? PyDict_GetItemString(modules, "logging") : nullptr;
  return logging ? PyObject_CallMethod(logging, "getLogger", "s", name) : nullptr;
}

}  // namespace

void log_pending_reports() noexcept {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  try {
    for (Report const& report : take_reports()) {
      PyObject* const to = logger(report.kind == Report::Kind::copy ? "memarray.copies" : "memarray.waits");
      PyObject* const done = to ? PyObject_CallMethod(to, "info", "s", report.message.c_str()) : nullptr;
      if (!done && PyErr_Occurred()) PyErr_WriteUnraisable(to);
      Py_XDECREF(done);
      Py_XDECREF(to);
    }
  } catch (abi::__forced_unwind&) {
    park_for_ever();
  } catch (std::bad_alloc const&) {
    // The records are lost; the counters are not.
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace memarray::python
