#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_functions.hpp>

namespace memarray {

/// The `CUresult` of the calling thread's last call that returned a null handle, and forgets it. 0 if there is none.
[[nodiscard]] MEMARRAY_API cu::Result get_last_error() noexcept;
/// The same, without forgetting it.
[[nodiscard]] MEMARRAY_API cu::Result peek_last_error() noexcept;
MEMARRAY_API void clear_last_error() noexcept;

/// Throws what `get_last_error` says: `OutOfMemoryError`, else `CudaError`, whose message begins with `what` and says
/// what to do where that is known.
[[noreturn]] MEMARRAY_API void throw_last_error(char const* what);
/// The same for a code in hand.
[[noreturn]] MEMARRAY_API void throw_driver_error(cu::Result code, char const* what);

namespace detail {

/// Remembers a failure; true for success.
bool succeeded(cu::Result code) noexcept;
/// Fails because of a null handle; always false. The error that made the handle null stays if the thread still has it.
/// Otherwise the last error becomes `code`, or the reason for which there is no driver.
MEMARRAY_API bool fail_for_null(cu::Result code) noexcept;

}  // namespace detail
}  // namespace memarray
