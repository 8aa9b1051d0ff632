#pragma once

#include <utility>

namespace memarray::detail {

/// Makes the handled exception the last error, without its message if memory is short.
void remember_current() noexcept;
/// Throws the exception for a last error's code; its message begins with `what`.
[[noreturn]] void throw_failure(int code, char const* what);

/// Returns `body()`, or `failed` with the last error set if it throws.
template <class Result, class Body>
Result attempt(Result failed, Body const& body) noexcept {
  try {
    return body();
  } catch (...) {
    remember_current();
    return failed;
  }
}

template <class Body>
int attempt(Body const& body) noexcept {
  return attempt(-1, [&] { return body(), 0; });
}

}  // namespace memarray::detail
