#pragma once

#include <Python.h>

namespace memarray::python {

/// Blocks the thread for ever. Before Python 3.14 a finalising interpreter unwinds other threads (`pthread_exit`),
/// which `noexcept` functions and half-done releases do not survive.
[[noreturn]] void park_for_ever() noexcept;

/// True if this thread runs Python. `PyGILState_Check` is true on all threads once a second interpreter has existed.
inline bool has_gil() noexcept {
  PyThreadState* const own = PyGILState_GetThisThreadState();
#if PY_VERSION_HEX >= 0x030d0000
  return own && own == PyThreadState_GetUnchecked();
#else
  return own && own == _PyThreadState_UncheckedGet();
#endif
}

/// A scope that holds the GIL, on any thread. Fails without an interpreter. During finalisation, only the finalising
/// thread succeeds.
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

/// A scope that sets the Python error aside. Needs the GIL. Does not restore the error on an unwound thread.
class ErrorAside {
 public:
  ErrorAside() noexcept { PyErr_Fetch(&_type, &_value, &_traceback); }
  ~ErrorAside();
  ErrorAside(ErrorAside const&) = delete;
  ErrorAside& operator=(ErrorAside const&) = delete;

 private:
  PyObject *_type = nullptr, *_value = nullptr, *_traceback = nullptr;
};

/// Drops a reference, on any thread. Leaks the object if the GIL cannot be acquired.
void drop_object(void* object) noexcept;

/// Installs the core's hooks. A thread that reacquires the GIL during finalisation parks for ever.
void install_hooks();

}  // namespace memarray::python
