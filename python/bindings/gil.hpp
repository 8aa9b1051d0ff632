#pragma once

#include <Python.h>

namespace memarray::python {

/// Blocks the calling thread for ever. Before Python 3.14 a finalising interpreter stops other threads by unwinding
/// them (`pthread_exit`). A `noexcept` function cannot be unwound, so the thread stops here. It must not release what
/// it holds half done.
[[noreturn]] void park_for_ever() noexcept;

/// True if this thread runs Python now. Not PyGILState_Check(), which is true for all threads after a second
/// interpreter has existed. The thread that finalises the interpreter keeps the GIL to the end.
inline bool has_gil() noexcept {
  PyThreadState* const own = PyGILState_GetThisThreadState();
#if PY_VERSION_HEX >= 0x030d0000
  return own && own == PyThreadState_GetUnchecked();
#else
  return own && own == _PyThreadState_UncheckedGet();
#endif
}

/// An acquisition of the GIL for a scope, on any thread. It fails without an interpreter, and during finalisation on
/// every thread but the finalising one. A caller that wanted to drop a Python object then leaks it.
class GilAcquire {
 public:
  GilAcquire() noexcept;
  ~GilAcquire();
  GilAcquire(GilAcquire const&) = delete;
  GilAcquire& operator=(GilAcquire const&) = delete;

  explicit operator bool() const noexcept { return _held; }

 private:
  bool _held;
  bool _acquired = false;
  PyGILState_STATE _state{};
};

/// A scope that sets the current Python error aside, under the GIL. Code in the scope neither sees nor replaces the
/// error. If the finalising interpreter unwinds the thread in the scope, the GIL is lost and the error is not restored.
class ErrorAside {
 public:
  ErrorAside() noexcept { PyErr_Fetch(&_type, &_value, &_traceback); }
  ~ErrorAside();
  ErrorAside(ErrorAside const&) = delete;
  ErrorAside& operator=(ErrorAside const&) = delete;

 private:
  PyObject *_type = nullptr, *_value = nullptr, *_traceback = nullptr;
};

/// Drops a reference to a Python object, on any thread. Leaks the object if the GIL cannot be acquired.
void drop_object(void* object) noexcept;

/// Installs the hooks with which the core releases the GIL, polls signals, raises errors and drops objects. Safe while
/// the interpreter is finalising: a thread that would reacquire the GIL then parks for ever, because unwinding it
/// through `noexcept` would end the process.
void install_hooks();

}  // namespace memarray::python
