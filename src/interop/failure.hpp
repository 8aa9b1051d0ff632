#pragma once

#include <utility>

namespace memarray::detail {

/// Makes the exception that is being handled the calling thread's last error, with its words unless there
/// is no memory for the first of them.
void remember_current() noexcept;
/// Throws the exception that a code of the last error stands for; its message begins with `what`.
[[noreturn]] void throw_failure(int code, char const* what);

/// What `body` returns; `failed` if it throws, which becomes the last error.
template <class Result, class Body>
Result attempt(Result failed, Body const& body) noexcept {
  try {
    return body();
  } catch (...) {
    remember_current();
    return failed;
  }
}

/// 0, or −1 if `body` throws.
template <class Body>
int attempt(Body const& body) noexcept {
  return attempt(-1, [&] { return body(), 0; });
}

}  // namespace memarray::detail
