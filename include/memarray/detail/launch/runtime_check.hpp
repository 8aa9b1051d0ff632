#pragma once

namespace memarray::detail {

/// Throws `CudaError` or `OutOfMemoryError` if a CUDA runtime call failed. First clears the error (`cudaGetLastError`),
/// which the thread's next launch would return again.
///
/// `Runtime` has `success`, `take_last_error()` and `throw_error(code, what)`.
template <class Runtime>
void check_runtime(Runtime const& runtime, int code, char const* what) {
  if (code == Runtime::success) return;
  runtime.take_last_error();
  runtime.throw_error(code, what);
}

}  // namespace memarray::detail
