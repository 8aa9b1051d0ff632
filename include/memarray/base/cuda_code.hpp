#pragma once

#include <string>

/// The `CUresult` codes that memarray checks or simulates: X(constant, number, driver's name, driver's text).
#define MEMARRAY_FOR_EACH_CUDA_CODE(X)                                                                            \
  X(success, 0, "CUDA_SUCCESS", "no error")                                                                       \
  X(invalid_value, 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument")                                             \
  X(out_of_memory, 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory")                                                \
  X(not_initialized, 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error")                                     \
  X(deinitialized, 4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down")                                         \
  X(no_device, 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")                                 \
  X(invalid_device, 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal")                                   \
  X(invalid_context, 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context")                                 \
  X(peer_access_unsupported, 217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",                                           \
    "peer access is not supported between these two devices")                                                     \
  X(invalid_handle, 400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle")                                  \
  X(not_found, 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found")                                             \
  X(not_ready, 600, "CUDA_ERROR_NOT_READY", "device not ready")                                                   \
  X(illegal_address, 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered")               \
  X(peer_access_already_enabled, 704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled") \
  X(context_is_destroyed, 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed")                         \
  X(misaligned_address, 716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address")                               \
  X(launch_failed, 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure")                                 \
  X(not_permitted, 800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted")                                    \
  X(not_supported, 801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported")                                    \
  X(unknown, 999, "CUDA_ERROR_UNKNOWN", "unknown error")

/// Constants for `CudaError::code` and `get_last_error`.
namespace memarray::cuda_code {

#define MEMARRAY_CUDA_CODE(constant, number, name, text) inline constexpr int constant = number;
MEMARRAY_FOR_EACH_CUDA_CODE(MEMARRAY_CUDA_CODE)
#undef MEMARRAY_CUDA_CODE

}  // namespace memarray::cuda_code

namespace memarray::detail {

/// The driver's words for a code; null if the list lacks it.
struct CudaCodeWords {
  char const* name;
  char const* text;
};
[[nodiscard]] CudaCodeWords words_of_cuda_code(int code) noexcept;
/// Returns the list's name, else "CUDA_ERROR_<code>".
[[nodiscard]] std::string name_of_cuda_code(int code);

}  // namespace memarray::detail
