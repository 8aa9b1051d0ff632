#pragma once

#include <memarray/base/hooks.hpp>

namespace memarray::detail {

/// Throws `CudaError` or `OutOfMemoryError` if a CUDA runtime call failed. First clears the error (`cudaGetLastError`),
/// which the thread's next launch would return again. `call` runs without the interpreter lock: a launch blocks while
/// the stream's queue is full, and loading its kernel may wait for work that needs that lock.
///
/// `Runtime` has `success`, `take_last_error()` and `throw_error(code, what)`.
template <class Runtime, class Call>
void check_runtime(Runtime const& runtime, char const* what, Call const& call) {
  RuntimeRelease const released;
  int const code = static_cast<int>(call());
  if (code == Runtime::success) return;
  runtime.take_last_error();
  runtime.throw_error(code, what);
}

}  // namespace memarray::detail
