#include "gil.hpp"

#include "python_errors.hpp"

#include <memarray/base/hooks.hpp>

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace memarray::python {
namespace {

bool finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

void* release() noexcept {
  if (!Py_IsInitialized() || finalizing() || !has_gil()) return nullptr;
  return PyEval_SaveThread();
}

void reacquire(void* token) noexcept {
  if (finalizing()) park_for_ever();
  try {
    PyEval_RestoreThread(static_cast<PyThreadState*>(token));
  } catch (abi::__forced_unwind&) {
    park_for_ever();  // the interpreter began to finalise meanwhile
  }
}

bool poll_signals(void*& token) noexcept {
  reacquire(token);
  bool const go_on = PyErr_CheckSignals() == 0;
  token = PyEval_SaveThread();
  return go_on;
}

}  // namespace

ErrorAside::~ErrorAside() {
  if (has_gil()) PyErr_Restore(_type, _value, _traceback);
}

void drop_object(void* object) noexcept {
  GilAcquire const gil;
  if (!gil) return;
#if !defined(Py_GIL_DISABLED)
  // Only the last reference runs code.
  if (Py_REFCNT(static_cast<PyObject*>(object)) > 1) return Py_DECREF(static_cast<PyObject*>(object));
#endif
  ErrorAside const aside;
  try {
    Py_DECREF(static_cast<PyObject*>(object));
  } catch (abi::__forced_unwind&) {
    park_for_ever();
  }
}

namespace {

void call_aside(void (*call)(void* object), void* object) noexcept {
  try {
    if (!has_gil() || !PyErr_Occurred()) return call(object);
    ErrorAside const aside;
    call(object);
  } catch (abi::__forced_unwind&) {
    park_for_ever();
  }
}

}  // namespace

void park_for_ever() noexcept {
  for (;;) ::pause();
}

GilAcquire::GilAcquire() noexcept : _held(has_gil()) {
  if (_held || !Py_IsInitialized() || finalizing()) return;
  try {
    _state = PyGILState_Ensure();
    _held = _acquired = true;
  } catch (abi::__forced_unwind&) {
    park_for_ever();
  }
}

GilAcquire::~GilAcquire() {
  if (_acquired) PyGILState_Release(_state);
}

void install_hooks() {
  set_hooks({.release = release,
             .reacquire = reacquire,
             .poll_signals = poll_signals,
             .raise = raise_current,
             .drop_object = drop_object,
             .call_aside = call_aside});
}

}  // namespace memarray::python
