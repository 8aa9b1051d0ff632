#pragma once

#include "gil.hpp"

#include <Python.h>

#include <utility>

namespace memarray::python {

/// One owned reference to a Python object, or null. Every operation needs the GIL. A thread that the finalising
/// interpreter unwinds no longer has the GIL and leaks the object.
class PyRef {
 public:
  PyRef() noexcept = default;
  /// Takes over a new reference, which most functions of the C API return. Null stays null.
  [[nodiscard]] static PyRef steal(PyObject* object) noexcept { return PyRef(object); }
  /// Adds a reference to an object that has another owner. Null stays null.
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
  /// Returns the reference and gives its ownership to the caller.
  [[nodiscard]] PyObject* release() noexcept { return std::exchange(_object, nullptr); }
  explicit operator bool() const noexcept { return _object != nullptr; }

 private:
  /// True if the finalising interpreter unwinds this thread. Python 3.14 and later lets such a thread hang instead.
  static bool is_unwound() noexcept { return PY_VERSION_HEX < 0x030e0000 && !has_gil(); }
  explicit PyRef(PyObject* object) noexcept : _object(object) {}

  PyObject* _object = nullptr;
};

}  // namespace memarray::python
