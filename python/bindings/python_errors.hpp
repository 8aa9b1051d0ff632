#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <exception>
#include <utility>

#include "gil.hpp"
#include "report_logging.hpp"

namespace memarray::python {

// Failure in the bindings is null, −1 or false with a Python error set, unless a comment says otherwise.

int add_errors(PyObject* module);

/// Sets the Python error for memarray's exceptions; false without an error for others.
bool translate(std::exception_ptr const& error) noexcept;
/// True if the Python error of an argument is raised at once, without a try of other overloads: `LockError` and
/// `CudaError`, which valid arguments raise, and exceptions that are not an `Exception`, such as `KeyboardInterrupt`.
bool ends_overload_search() noexcept;
/// True if `type`, which may be null, is or derives from `memarray.Error`.
bool is_own_error(PyObject* type) noexcept;
/// Sets `UnsupportedTypeError` with a list of all dtypes.
void set_unknown_dtype(PyObject* dtype) noexcept;
/// Sets the Python error for the current C++ exception.
void raise_current() noexcept;

/// Runs an entry point, turns C++ exceptions into Python errors (null or −1), and logs reports.
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
