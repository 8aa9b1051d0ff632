#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <exception>
#include <utility>

#include "gil.hpp"
#include "report_logging.hpp"

namespace memarray::python {

/// Makes the exception types and adds them to the module. −1 with the Python error set.
int add_errors(PyObject* module);

/// Sets the Python error for `error` if it is one of memarray's or of the standard library's; else false.
bool translate(std::exception_ptr const& error) noexcept;
/// True for an exception type that memarray made; `type` may be null.
bool is_own_error(PyObject* type) noexcept;
/// Sets `UnsupportedTypeError`: there is no such dtype, and these are.
void set_unknown_dtype(PyObject* dtype) noexcept;
/// Sets the Python error for the exception that is being handled.
void raise_current() noexcept;

/// The body of every entry point: runs `body`, turns C++ exceptions into Python's, and logs what was reported
/// meanwhile.
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
