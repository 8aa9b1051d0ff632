#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_functions.hpp>

namespace memarray {

/// Returns and clears the calling thread's last error, the `CUresult` of a failed call; 0 if there is none.
[[nodiscard]] MEMARRAY_API cu::Result get_last_error() noexcept;
/// Returns the last error without clearing it.
[[nodiscard]] MEMARRAY_API cu::Result peek_last_error() noexcept;
MEMARRAY_API void clear_last_error() noexcept;

/// Throws and clears the last error: `OutOfMemoryError`, else `CudaError`. The message begins with `what` and says what
/// to do if that is known.
[[noreturn]] MEMARRAY_API void throw_last_error(char const* what);
/// Throws `OutOfMemoryError`, else `CudaError`, for `code`; its message is like that of `throw_last_error`.
[[noreturn]] MEMARRAY_API void throw_driver_error(cu::Result code, char const* what);

namespace detail {

/// True for success. Makes any other `code` the last error.
bool succeeded(cu::Result code) noexcept;
/// Makes `code` the last error unless it means success.
inline void record_error(cu::Result code) noexcept { static_cast<void>(succeeded(code)); }
/// Sets the last error for a null handle; always false. The error that made the handle null stays if the thread still
/// has it. Otherwise the last error becomes the reason why there is no driver, or `code`.
MEMARRAY_API bool fail_for_null(cu::Result code) noexcept;

}  // namespace detail
}  // namespace memarray
