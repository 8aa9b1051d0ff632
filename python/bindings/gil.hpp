#pragma once

#include <Python.h>

namespace memarray::python {

/// Where a thread ends that the finalising interpreter stops by unwinding it (`pthread_exit`, before Python 3.14): it
/// sleeps for ever instead, as no `noexcept` function can be unwound, and what it holds must not be given back half
/// done.
[[noreturn]] void park_for_ever() noexcept;

/// True if this thread runs Python now. Not PyGILState_Check(), which is true for all threads once there was a second
/// interpreter. The thread that finalises has the GIL until there is nothing left to run.
inline bool has_gil() noexcept {
  PyThreadState* const own = PyGILState_GetThisThreadState();
#if PY_VERSION_HEX >= 0x030d0000
  return own && own == PyThreadState_GetUnchecked();
#else
  return own && own == _PyThreadState_UncheckedGet();
#endif
}

/// Takes the GIL for a scope, on any thread. It is not had where there is no interpreter, nor while it is finalising
/// but by the thread that does that: whoever wanted to drop a Python object then leaks it.
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

/// Sets the current error aside for a scope, under the GIL: what runs there neither sees nor replaces it. A thread that
/// is unwound there by the finalising interpreter no longer has the GIL, and takes nothing up again.
class ErrorAside {
 public:
  ErrorAside() noexcept { PyErr_Fetch(&_type, &_value, &_traceback); }
  ~ErrorAside();
  ErrorAside(ErrorAside const&) = delete;
  ErrorAside& operator=(ErrorAside const&) = delete;

 private:
  PyObject *_type = nullptr, *_value = nullptr, *_traceback = nullptr;
};

/// Lets go of a reference to an object, on any thread; where the GIL is not had, the object is leaked.
void drop_object(void* object) noexcept;

/// Tells the core how to let go of the GIL, look at signals, raise and drop objects. Safe when the interpreter is
/// finalising: a thread that would take the GIL back then sleeps for ever, as unwinding it through `noexcept` would end
/// the process.
void install_hooks();

}  // namespace memarray::python
