#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <exception>
#include <utility>

#include "gil.hpp"
#include "report_logging.hpp"

namespace memarray::python {

// Failing functions of the bindings return null, −1 or false with a Python error set, unless their comments say
// otherwise.

int add_errors(PyObject* module);

/// Sets the Python error for an exception of memarray; returns false without an error for others.
bool translate(std::exception_ptr const& error) noexcept;
/// True if `type`, which may be null, is `memarray.Error` or derives from it.
bool is_own_error(PyObject* type) noexcept;
/// Sets `UnsupportedTypeError` with a list of all dtypes.
void set_unknown_dtype(PyObject* dtype) noexcept;
/// Sets the Python error for the current C++ exception.
void raise_current() noexcept;

/// Runs the body of an entry point, turns C++ exceptions into Python errors, and logs reports.
template <class Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
  using Result = decltype(body());
  Result result;
  try {
    result = std::forward<Body>(body)();
  } catch (abi::__forced_unwind&) {
    park_for_ever();
  } catch (...) {
    raise_current();
    if constexpr (std::is_pointer_v<Result>)
      result = nullptr;
    else
      result = static_cast<Result>(-1);
  }
  log_reports();
  return result;
}

}  // namespace memarray::python
