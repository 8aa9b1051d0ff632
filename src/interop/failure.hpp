#pragma once

#include <utility>

namespace memarray::detail {

/// Makes the exception that is being handled the calling thread's last error. Keeps its message unless memory is short.
void remember_current() noexcept;
/// Throws the exception for a code of the last error; its message begins with `what`.
[[noreturn]] void throw_failure(int code, char const* what);

/// Returns the result of `body`. If `body` throws, the exception becomes the last error and the result is `failed`.
template <class Result, class Body>
Result attempt(Result failed, Body const& body) noexcept {
  try {
    return body();
  } catch (...) {
    remember_current();
    return failed;
  }
}

/// Returns 0, or −1 with the last error set if `body` throws.
template <class Body>
int attempt(Body const& body) noexcept {
  return attempt(-1, [&] { return body(), 0; });
}

}  // namespace memarray::detail
