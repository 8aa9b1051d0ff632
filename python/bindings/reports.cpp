#include "reports.hpp"

#include "gil.hpp"

#include <Python.h>
#include <cxxabi.h>

#include <new>

namespace memarray::python {
namespace {

/// A new reference to the logger, or null without an error: without the `logging` module nobody listens.
PyObject* logger(char const* name) {
  PyObject* const word = PyUnicode_FromString("logging");
  PyObject* const logging = word ? PyImport_GetModule(word) : nullptr;
  PyObject* const result = logging ? PyObject_CallMethod(logging, "getLogger", "s", name) : nullptr;
  Py_XDECREF(logging);
  Py_XDECREF(word);
  return result;
}

struct Channel {
  char const* logger;
  char const* level;
};

Channel channel_of(Report::Kind kind) noexcept {
  if (kind == Report::Kind::death) return {"memarray.deaths", "warning"};
  return {kind == Report::Kind::copy ? "memarray.copies" : "memarray.waits", "info"};
}

/// Takes the current error, with its traceback.
PyObject* take_error() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
}

int raise_it(void* error) {
  auto* const value = static_cast<PyObject*>(error);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value)), value);
  Py_DECREF(value);
  return -1;
}

/// What a signal handler raised, Ctrl-C for one, is raised when the operation that was reported has returned: it has
/// succeeded, and a lease that it made is somebody's.
void raise_after_return(PyObject* raised) {
  if (!raised || Py_AddPendingCall(&raise_it, raised) == 0) return;
  raise_it(raised);
  PyErr_WriteUnraisable(nullptr);
}

}  // namespace

void log_pending_reports() noexcept {
  ErrorAside const aside;
  PyObject* interrupt = nullptr;
  try {
    // Before the first Python code, which would run the handlers that are due as if they were part of it.
    if (PyErr_CheckSignals() != 0) interrupt = take_error();
    for (Report const& report : take_reports()) {
      Channel const channel = channel_of(report.kind);
      PyObject* const to = logger(channel.logger);
      PyObject* const done = to ? PyObject_CallMethod(to, channel.level, "s", report.message.c_str()) : nullptr;
      if (!done && !interrupt && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        interrupt = take_error();
      else if (!done && PyErr_Occurred())
        PyErr_WriteUnraisable(to);
      Py_XDECREF(done);
      Py_XDECREF(to);
    }
  } catch (abi::__forced_unwind&) {
    park_for_ever();
  } catch (std::bad_alloc const&) {
    // The records are lost; the counters are not.
  }
  raise_after_return(interrupt);
}

}  // namespace memarray::python
