#pragma once

namespace memarray::detail {

/// Throws `CudaError` unless a call of the CUDA runtime returned success. All such calls are checked here.
///
/// The runtime keeps a thread's error until it is read, and returns it from that thread's next, unrelated launch. So
/// the error is cleared before the exception is thrown (`cudaGetLastError`).
///
/// `Runtime` has `success`, `take_last_error()` and `throw_error(code, what)`.
template <class Runtime>
void check_runtime(Runtime const& runtime, int code, char const* what) {
  if (code == Runtime::success) return;
  runtime.take_last_error();
  runtime.throw_error(code, what);
}

}  // namespace memarray::detail
