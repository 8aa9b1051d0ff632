#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_functions.hpp>

namespace memarray {

/// Returns and clears the thread's last error, the `CUresult` of a failed call; 0 if none.
[[nodiscard]] MEMARRAY_API cu::Result get_last_error() noexcept;
/// Returns the last error without clearing it.
[[nodiscard]] MEMARRAY_API cu::Result peek_last_error() noexcept;
MEMARRAY_API void clear_last_error() noexcept;

/// Throws and clears the last error: `OutOfMemoryError`, else `CudaError`. The message begins with `what`.
[[noreturn]] MEMARRAY_API void throw_last_error(char const* what);
/// Throws `code` like `throw_last_error`.
[[noreturn]] MEMARRAY_API void throw_driver_error(cu::Result code, char const* what);

namespace detail {

/// Throws any `code` but 0 like `throw_driver_error`.
inline void check_driver(cu::Result code, char const* what) {
  if (code != 0) throw_driver_error(code, what);
}

/// True for success; makes any other `code` the last error.
bool succeeded(cu::Result code) noexcept;
inline void record_error(cu::Result code) noexcept { static_cast<void>(succeeded(code)); }
/// Returns false. Keeps the last error, which says why a handle is null; if none, sets the code of a missing driver,
/// else `code`.
MEMARRAY_API bool fail_for_null(cu::Result code) noexcept;

}  // namespace detail
}  // namespace memarray
