#include "lease_type.hpp"

#include "errors.hpp"

#include <memarray/base/options.hpp>

#include <frameobject.h>

#include <cmath>

namespace memarray::python {

bool read_timeout(PyObject* object, Timeout& timeout) {
  if (object == Py_None) {
    timeout = std::nullopt;
    return true;
  }
  double const seconds = PyBool_Check(object) ? -1 : PyFloat_AsDouble(object);
  if (PyBool_Check(object) || (seconds == -1 && PyErr_Occurred())) {
    PyErr_Format(PyExc_TypeError, "timeout must be seconds as a number, or None to wait until Ctrl-C, not %R", object);
    return false;
  }
  if (!(seconds >= 0)) {
    PyErr_Format(PyExc_ValueError, "timeout must be 0 or more seconds, or None, not %R", object);
    return false;
  }
  constexpr double longest = 9.0e9;  // what nanoseconds in 64 bits can count: 285 years
  timeout = seconds >= longest ? Timeout() : Timeout(std::chrono::nanoseconds(std::llround(seconds * 1e9)));
  return true;
}

bool read_device(PyObject* object, std::optional<Device>& device) {
  if (object == Py_None) return true;
  PyObject* const text = PyUnicode_Check(object) ? Py_NewRef(object) : PyObject_Str(object);
  char const* const word = text ? PyUnicode_AsUTF8(text) : nullptr;
  bool read = false;
  if (word) {
    try {
      device = device_from_string(word);
      read = true;
    } catch (...) {
      raise_current();
    }
  }
  Py_XDECREF(text);
  return read;
}

bool read_stream(PyObject* object) {
  if (object == Py_None) return true;
  if (PyLong_Check(object) && !PyBool_Check(object)) {
    long long const value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred()) return false;
    if (value >= -1) return true;
    PyErr_Format(PyExc_ValueError, "stream must be None, -1, 0, 1, 2 or the address of a CUDA stream, not %R", object);
    return false;
  }
  int const has_stream = PyObject_HasAttrString(object, "__cuda_stream__");
  if (!has_stream)
    PyErr_Format(PyExc_TypeError, "stream must be None, an integer or an object with __cuda_stream__, not %R", object);
  return has_stream == 1;
}

std::string python_location() {
  return options().trace_leases.load(std::memory_order_relaxed) ? line_of_caller() : std::string();
}

std::string line_of_caller() {
  PyFrameObject* const frame = PyEval_GetFrame();
  if (!frame) return {};
  PyCodeObject* const code = PyFrame_GetCode(frame);
  char const* const file = PyUnicode_AsUTF8(code->co_filename);
  char const* const function = PyUnicode_AsUTF8(code->co_name);
  std::string text;
  if (file && function)
    text = std::string(file) + ":" + std::to_string(PyFrame_GetLineNumber(frame)) + " (" + function + ")";
  else
    PyErr_Clear();
  Py_DECREF(code);
  return text;
}

}  // namespace memarray::python
