#pragma once

namespace memarray::detail {

/// Throws `CudaError` unless a call of the CUDA runtime returned success. All such calls are checked here.
///
/// The runtime keeps an error for the thread until it is asked for it, and returns it from the next launch of that
/// thread, whose error it is not. So the error is taken out before the exception is thrown.
///
/// `Runtime`: `success`, `take_last_error()`, `throw_error(code, what)`.
template <class Runtime>
void check_runtime(Runtime const& runtime, int code, char const* what) {
  if (code == Runtime::success) return;
  runtime.take_last_error();
  runtime.throw_error(code, what);
}

}  // namespace memarray::detail
