#pragma once

namespace memarray::detail {

/// Throws `CudaError` unless a call of the CUDA runtime succeeded. First clears the error (`cudaGetLastError`): the
/// runtime would return it again from the thread's next, unrelated launch.
///
/// `Runtime` has `success`, `take_last_error()` and `throw_error(code, what)`.
template <class Runtime>
void check_runtime(Runtime const& runtime, int code, char const* what) {
  if (code == Runtime::success) return;
  runtime.take_last_error();
  runtime.throw_error(code, what);
}

}  // namespace memarray::detail
