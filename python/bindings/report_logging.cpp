#include "report_logging.hpp"

#include "gil.hpp"
#include "helpers.hpp"

#include <Python.h>
#include <cxxabi.h>

#include <new>
#include <utility>

namespace memarray::python {
namespace {

/// Returns a logger; null without an error if `logging` was never imported.
PyRef logger(char const* name) {
  PyRef const word = PyRef::steal(PyUnicode_FromString("logging"));
  PyRef const logging = PyRef::steal(word ? PyImport_GetModule(word.get()) : nullptr);
  return PyRef::steal(logging ? PyObject_CallMethod(logging.get(), "getLogger", "s", name) : nullptr);
}

struct Channel {
  char const* logger;
  char const* level;
};

Channel channel_of(Report::Kind kind) noexcept {
  if (kind == Report::Kind::death) return {"memarray.deaths", "warning"};
  return {kind == Report::Kind::copy ? "memarray.copies" : "memarray.waits", "info"};
}

int raise_it(void* error) {
  set_error(PyRef::steal(static_cast<PyObject*>(error)));
  return -1;
}

/// Raises a signal handler's exception after the operation, whose opened lease must reach the caller.
void raise_after_return(PyRef raised) {
  if (!raised) return;
  PyObject* const error = raised.release();
  if (Py_AddPendingCall(&raise_it, error) == 0) return;
  raise_it(error);
  PyErr_WriteUnraisable(nullptr);
}

}  // namespace

void log_pending_reports() noexcept {
  ErrorAside const aside;
  // Outside the `try`: an unwound thread parks before it drops these.
  PyRef interrupt, to, done;
  try {
    // Python code would run pending handlers as a part of itself.
    if (PyErr_CheckSignals() != 0) interrupt = take_error();
    for (Report const& report : take_reports()) {
      Channel const channel = channel_of(report.kind);
      to = logger(channel.logger);
      done = PyRef::steal(to ? PyObject_CallMethod(to.get(), channel.level, "s", report.message.c_str()) : nullptr);
      if (!done && !interrupt && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        interrupt = take_error();
      else if (!done && PyErr_Occurred())
        PyErr_WriteUnraisable(to.get());
    }
  } catch (abi::__forced_unwind&) {
    park_for_ever();
  } catch (std::bad_alloc const&) {
    // Records are lost, counts are not.
  }
  raise_after_return(std::move(interrupt));
}

}  // namespace memarray::python
