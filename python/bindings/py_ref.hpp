#pragma once

#include "gil.hpp"

#include <Python.h>

#include <utility>

namespace memarray::python {

/// An owned reference to a Python object, or null. Every operation needs the GIL. An unwound thread leaks the object.
class PyRef {
 public:
  PyRef() noexcept = default;
  /// Takes over a new reference, or null.
  [[nodiscard]] static PyRef steal(PyObject* object) noexcept { return PyRef(object); }
  /// Adds a reference, unless the object is null.
  [[nodiscard]] static PyRef borrow(PyObject* object) noexcept { return PyRef(Py_XNewRef(object)); }

  PyRef(PyRef&& other) noexcept : _object(std::exchange(other._object, nullptr)) {}
  PyRef& operator=(PyRef&& other) noexcept {
    PyRef dropped(std::exchange(_object, std::exchange(other._object, nullptr)));
    return *this;
  }
  PyRef(PyRef const&) = delete;
  PyRef& operator=(PyRef const&) = delete;
  ~PyRef() {
    if (_object && !is_unwound()) Py_DECREF(_object);
  }

  [[nodiscard]] PyObject* get() const noexcept { return _object; }
  /// Gives the reference to the caller.
  [[nodiscard]] PyObject* release() noexcept { return std::exchange(_object, nullptr); }
  explicit operator bool() const noexcept { return _object != nullptr; }

 private:
  /// True if the finalising interpreter unwinds this thread. Python 3.14 blocks the thread instead.
  static bool is_unwound() noexcept { return PY_VERSION_HEX < 0x030e0000 && !has_gil(); }
  explicit PyRef(PyObject* object) noexcept : _object(object) {}

  PyObject* _object = nullptr;
};

}  // namespace memarray::python
