#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/handle.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <cstddef>

namespace memarray {

/// Allocates memory from a pool (`cuMemAllocFromPoolAsync`). Work submitted to `stream` from now on may use it. The
/// memory is freed in the order of its deallocation stream, initially `stream`.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_from_pool(MemoryPoolHandle const& pool, StreamHandle const& stream,
                                                              std::size_t bytes) noexcept;
/// Allocates memory of a context's device, for devices without pools. Freeing it waits for all work on the device.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_device(ContextHandle const& context, std::size_t bytes) noexcept;
/// Allocates memory that host and devices can access and the driver migrates (`cuMemAllocManaged`).
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_managed(ContextHandle const& context, std::size_t bytes) noexcept;
/// Allocates host memory that is page-locked for all contexts. Its address is a host address.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_pinned(ContextHandle const& context, std::size_t bytes) noexcept;
[[nodiscard]] MEMARRAY_API DevicePtrHandle create_device_ptr_handle_ref(cu::DevicePtr pointer) noexcept;
[[nodiscard]] MEMARRAY_API DevicePtrHandle create_device_ptr_handle_with_owner(cu::DevicePtr pointer,
                                                                               KeepAlive owner) noexcept;

/// Returns the stream in whose order memory from a pool is freed. Null for other memory; null with the last error set
/// for a null handle.
[[nodiscard]] MEMARRAY_API StreamHandle deallocation_stream(DevicePtrHandle const& pointer) noexcept;
/// Sets the stream in whose order memory from a pool is freed: the stream of its last use. Not thread-safe: the caller
/// orders the uses of the memory. A null handle changes nothing and sets the last error.
MEMARRAY_API void set_deallocation_stream(DevicePtrHandle const& pointer, StreamHandle stream) noexcept;
/// Makes the free wait for `event`, which marks work on another stream. Not thread-safe: the caller orders the uses of
/// the memory. False if no host memory is left to record the event: the caller must then wait for it. False with the
/// last error set for a null handle.
[[nodiscard]] MEMARRAY_API bool free_after(DevicePtrHandle const& pointer, EventHandle event) noexcept;

}  // namespace memarray
