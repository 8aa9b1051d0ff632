#pragma once

#include "gil.hpp"

#include <Python.h>

#include <utility>

namespace memarray::python {

/// An owned reference, or null. Every operation needs the GIL. An unwound thread leaks the object.
class PyRef {
 public:
  PyRef() noexcept = default;
  [[nodiscard]] static PyRef steal(PyObject* object) noexcept { return PyRef(object); }
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
  [[nodiscard]] PyObject* release() noexcept { return std::exchange(_object, nullptr); }
  explicit operator bool() const noexcept { return _object != nullptr; }

 private:
  /// True if a finalising interpreter unwinds this thread, as in `park_for_ever`.
  static bool is_unwound() noexcept { return PY_VERSION_HEX < 0x030e0000 && !has_gil(); }
  explicit PyRef(PyObject* object) noexcept : _object(object) {}

  PyObject* _object = nullptr;
};

}  // namespace memarray::python
