#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <exception>
#include <utility>

#include "gil.hpp"
#include "report_logging.hpp"

namespace memarray::python {

/// Makes the exception types and adds them to the module. Returns −1 with the Python error set on failure.
int add_errors(PyObject* module);

/// Sets the Python error for `error` if memarray defines its type. Returns false and sets nothing for any other
/// exception.
bool translate(std::exception_ptr const& error) noexcept;
/// True if `type` is `memarray.Error` or derives from it. `type` may be null.
bool is_own_error(PyObject* type) noexcept;
/// Sets `UnsupportedTypeError` for an unknown dtype. The message lists all dtypes.
void set_unknown_dtype(PyObject* dtype) noexcept;
/// Sets the Python error for the C++ exception that is being handled.
void raise_current() noexcept;

/// Runs the body of an entry point, turns C++ exceptions into Python errors, and logs the reports that were queued
/// meanwhile. Returns null or −1 after an exception.
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
