#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/handle.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <cstddef>

namespace memarray {

/// Allocates from a pool for work submitted to `stream` from now on (`cuMemAllocFromPoolAsync`). `stream` is also the
/// initial deallocation stream.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_from_pool(MemoryPoolHandle const& pool, StreamHandle const& stream,
                                                              std::size_t bytes) noexcept;
/// Allocates device memory without a pool. Freeing it waits for all work on the device.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_device(ContextHandle const& context, std::size_t bytes) noexcept;
/// Allocates memory that host and devices access and the driver migrates (`cuMemAllocManaged`).
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_managed(ContextHandle const& context, std::size_t bytes) noexcept;
/// Allocates host memory that is page-locked for all contexts; the pointer is a host address.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_pinned(ContextHandle const& context, std::size_t bytes) noexcept;
[[nodiscard]] MEMARRAY_API DevicePtrHandle create_device_ptr_handle_ref(cu::DevicePtr pointer) noexcept;
[[nodiscard]] MEMARRAY_API DevicePtrHandle create_device_ptr_handle_with_owner(cu::DevicePtr pointer,
                                                                               KeepAlive owner) noexcept;

/// Returns the stream in whose order pool memory is freed; null for other memory. This function and the next two set
/// the last error for a null handle.
[[nodiscard]] MEMARRAY_API StreamHandle deallocation_stream(DevicePtrHandle const& pointer) noexcept;
/// Sets the deallocation stream: the stream of the last use. Not thread-safe: the caller orders the uses of the memory.
MEMARRAY_API void set_deallocation_stream(DevicePtrHandle const& pointer, StreamHandle stream) noexcept;
/// Makes the free wait for `event`, which marks work on another stream. Not thread-safe. False for a null handle, and
/// without host memory to record the event: the caller must then wait for it.
[[nodiscard]] MEMARRAY_API bool free_after(DevicePtrHandle const& pointer, EventHandle event) noexcept;

}  // namespace memarray
