#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/handle.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <cstddef>

namespace memarray {

/// Memory from a pool, in the order of `stream`: usable by work submitted to it from now on. It is freed in the order
/// of its deallocation stream, at first `stream`.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_from_pool(MemoryPoolHandle const& pool, StreamHandle const& stream,
                                                              std::size_t bytes) noexcept;
/// Memory of a context's device, for devices without pools. Freeing it waits for all work on the device.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_device(ContextHandle const& context, std::size_t bytes) noexcept;
/// Memory that host and devices reach and the driver moves.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_managed(ContextHandle const& context, std::size_t bytes) noexcept;
/// Host memory that is page-locked for all contexts; its address is a host address.
[[nodiscard]] MEMARRAY_API DevicePtrHandle allocate_pinned(ContextHandle const& context, std::size_t bytes) noexcept;
[[nodiscard]] MEMARRAY_API DevicePtrHandle create_device_ptr_handle_ref(cu::DevicePtr pointer) noexcept;
[[nodiscard]] MEMARRAY_API DevicePtrHandle create_device_ptr_handle_with_owner(cu::DevicePtr pointer,
                                                                               KeepAlive owner) noexcept;

/// The stream in whose order memory from a pool is freed; null for other memory, and with the last
/// error set for a null handle.
[[nodiscard]] MEMARRAY_API StreamHandle deallocation_stream(DevicePtrHandle const& pointer) noexcept;
/// Where the memory was used last. Not thread-safe: called by whoever orders the use of that memory.
/// A null handle changes nothing and sets the last error.
MEMARRAY_API void set_deallocation_stream(DevicePtrHandle const& pointer, StreamHandle stream) noexcept;
/// Work on another stream that the free waits for. Not thread-safe, like the former. False if there is no memory to
/// remember it: the caller then waits for the event. False with the last error set for a null handle.
[[nodiscard]] MEMARRAY_API bool free_after(DevicePtrHandle const& pointer, EventHandle event) noexcept;

}  // namespace memarray
