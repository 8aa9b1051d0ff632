#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/handle.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <cstddef>

namespace memarray {

/// Allocates in stream order (`cuMemAllocFromPoolAsync`). `stream` is also the initial deallocation stream.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_from_pool(MemoryPoolHandle const& pool, StreamHandle const& stream,
                                                              std::size_t bytes) noexcept;
/// Allocates without a pool (`cuMemAlloc`). The free waits for all work on the device.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_device(ContextHandle const& context, std::size_t bytes) noexcept;
/// Allocates memory that the driver migrates between host and devices (`cuMemAllocManaged`).
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_managed(ContextHandle const& context, std::size_t bytes) noexcept;
/// Allocates host memory, page-locked for all contexts; the pointer is a host address.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_pinned(ContextHandle const& context, std::size_t bytes) noexcept;
[[nodiscard]] MEMARRAY_API DevicePtrHandle create_device_ptr_handle_ref(cu::DevicePtr pointer) noexcept;
[[nodiscard]] MEMARRAY_API DevicePtrHandle create_device_ptr_handle_with_owner(cu::DevicePtr pointer,
                                                                               KeepAlive owner) noexcept;

/// Returns the stream that orders the free of pool memory, else null. Like the next two functions, sets the last error
/// for a null handle.
[[nodiscard]] MEMARRAY_API StreamHandle deallocation_stream(DevicePtrHandle const& pointer) noexcept;
/// Sets the deallocation stream of pool memory: that of its last use. Not thread-safe: the caller orders the uses.
MEMARRAY_API void set_deallocation_stream(DevicePtrHandle const& pointer, StreamHandle stream) noexcept;
/// Makes the free wait for `event`. Not thread-safe. False for a null handle or without host memory: the caller must
/// then wait for it.
[[nodiscard]] MEMARRAY_API bool free_after(DevicePtrHandle const& pointer, EventHandle event) noexcept;

}  // namespace memarray
