#include "lease/lease_type.hpp"

#include "cuda/handle_types.hpp"
#include "helpers.hpp"
#include "py_ref.hpp"
#include "python_errors.hpp"
#include "shown.hpp"

#include <memarray/base/options.hpp>

#include <frameobject.h>

#include <cmath>
#include <string_view>

namespace memarray::python {

bool read_timeout(PyObject* object, Timeout& timeout) {
  if (object == Py_None) {
    timeout = std::nullopt;
    return true;
  }
  constexpr double longest = 9.0e9;  // 285 years; 64 bits of nanoseconds count 292
  double seconds = PyBool_Check(object) ? -1 : PyFloat_AsDouble(object);
  if (PyLong_Check(object) && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    int overflow = 0;
    static_cast<void>(PyLong_AsLongAndOverflow(object, &overflow));
    seconds = overflow * longest;
  }
  if (PyBool_Check(object) || (seconds == -1 && PyErr_Occurred())) {
    if (!clear_ordinary_error()) return false;
    PyErr_Format(PyExc_TypeError, "timeout must be seconds as a number, or None to wait until Ctrl-C, not %s",
                 shown(object).c_str());
    return false;
  }
  if (!(seconds >= 0)) {
    PyErr_Format(PyExc_ValueError, "timeout must be 0 or more seconds, or None, not %s", shown(object).c_str());
    return false;
  }
  timeout = seconds >= longest ? Timeout() : Timeout(std::chrono::nanoseconds(std::llround(seconds * 1e9)));
  return true;
}

bool read_device_id(PyObject* object, int& id) {
  PyRef const number = PyRef::steal(is_integer(object) ? PyNumber_Index(object) : nullptr);
  if (!number) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "device_id must be an integer, not %s", shown(object).c_str());
    return false;
  }
  int overflow = 0;
  long const value = PyLong_AsLongAndOverflow(number.get(), &overflow);
  if (overflow != 0 || value < 0 || value > INT32_MAX) {
    bool const is_large = overflow > 0 || value > INT32_MAX;
    PyErr_Format(PyExc_ValueError, "device_id is %s; device ids start at 0%s", shown(object).c_str(),
                 is_large ? ", and none is above 2147483647" : "");
    return false;
  }
  id = static_cast<int>(value);
  return true;
}

bool read_device(PyObject* object, std::optional<Device>& device) {
  if (object == Py_None) return true;
  if (PyLong_Check(object) && !PyLong_CheckExact(object) && !PyBool_Check(object)) {
    // A `DeviceType`, an enum of integers, names the first device of its kind.
    int overflow = 0;
    long const kind = PyLong_AsLongAndOverflow(object, &overflow);
    if (kind == kDLCPU) device = Device{};
    if (kind == kDLCUDA) device = Device{kDLCUDA, 0};
    if (device) return true;
  }
  PyRef const text = PyUnicode_Check(object) ? PyRef::borrow(object) : PyRef::steal(PyObject_Str(object));
  Py_ssize_t length = 0;
  char const* const word = text ? PyUnicode_AsUTF8AndSize(text.get(), &length) : nullptr;
  if (!word) return false;
  try {
    std::string_view const all(word, static_cast<std::size_t>(length));
    if (length > longest_word) detail::throw_no_device_named(all, shown(text.get()));
    device = device_from_string(std::string(all));
    return true;
  } catch (...) {
    raise_current();
    return false;
  }
}

bool read_dlpack_device(PyObject* type, PyObject* id, detail::ArrayState const& state, Device& device) {
  if (!PyLong_Check(type) || PyBool_Check(type)) {
    PyErr_Format(PyExc_TypeError, "device_type must be one of memarray.dlpack (kDLCPU, kDLCUDA), not %s",
                 shown(type).c_str());
    return false;
  }
  int type_overflow = 0;
  long const kind = PyLong_AsLongAndOverflow(type, &type_overflow);
  if (type_overflow != 0 || kind < 0 || kind > INT32_MAX) {
    PyErr_Format(PyExc_ValueError, "device_type is %s; it is one of memarray.dlpack (kDLCPU, kDLCUDA)",
                 shown(type).c_str());
    return false;
  }
  device = {static_cast<DLDeviceType>(kind), kind == kDLCPU ? 0 : state.residency().device_id()};
  if (!id || id == Py_None) return true;
  int number = 0;
  if (!read_device_id(id, number)) return false;
  if (kind != kDLCPU) device.id = number;
  return true;
}

bool read_stream(PyObject* object, StreamChoice& stream) {
  if (object == Py_None) return true;
  try {
    if (!is_integer(object)) {
      stream = stream_of(object);
      return true;
    }
    PyRef const index = PyRef::steal(PyNumber_Index(object));
    if (!index) return false;
    long long const number = PyLong_AsLongLong(index.get());
    if (number == -1 && PyErr_Occurred()) return false;
    stream = StreamChoice::numbered(number);
    return true;
  } catch (...) {
    raise_current();
    return false;
  }
}

std::string traced_location() {
  return options().trace_leases.load(std::memory_order_relaxed) ? line_of_caller() : std::string();
}

std::string line_of_caller() {
  PyFrameObject* const frame = PyEval_GetFrame();
  if (!frame) return {};
  auto* const code = PyFrame_GetCode(frame);
  PyRef const kept = PyRef::steal(reinterpret_cast<PyObject*>(code));
  char const* const file = PyUnicode_AsUTF8(code->co_filename);
  char const* const function = PyUnicode_AsUTF8(code->co_name);
  std::string text;
  if (file && function)
    text = std::string(file) + ":" + std::to_string(PyFrame_GetLineNumber(frame)) + " (" + function + ")";
  else
    PyErr_Clear();
  return text;
}

}  // namespace memarray::python
