#pragma once

#include <memarray/driver/driver_functions.hpp>

/// The driver's result codes (`CUresult`) that the handles check for and that simulated devices return.
namespace memarray::code {

inline constexpr cu::Result success = 0;
inline constexpr cu::Result invalid_value = 1;
inline constexpr cu::Result out_of_memory = 2;
inline constexpr cu::Result not_initialized = 3;
inline constexpr cu::Result no_device = 100;
inline constexpr cu::Result invalid_device = 101;
inline constexpr cu::Result invalid_context = 201;
inline constexpr cu::Result peer_access_unsupported = 217;
inline constexpr cu::Result invalid_handle = 400;
inline constexpr cu::Result not_found = 500;
inline constexpr cu::Result not_ready = 600;
inline constexpr cu::Result peer_access_already_enabled = 704;
inline constexpr cu::Result context_is_destroyed = 709;
inline constexpr cu::Result misaligned_address = 716;
inline constexpr cu::Result launch_failed = 719;
inline constexpr cu::Result not_permitted = 800;
inline constexpr cu::Result not_supported = 801;

}  // namespace memarray::code
