#pragma once

#include <cstddef>

#include <memarray/base/config.hpp>
#include <memarray/memory/pooling_adaptor.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray {

/// Where arrays take host memory from: pageable memory, pooled. Never destroyed, so that memory may go back
/// from any thread however late.
[[nodiscard]] MEMARRAY_API MemoryResource host_resource() noexcept;

/// Memory of that type that the host reaches: `host_resource()`; pinned memory, which the library keeps for the next
/// time until the device is trimmed; unified memory, which work on the device uses too. Throws `ValueError` for device
/// memory, `CudaError` where there is no such device.
[[nodiscard]] MEMARRAY_API MemoryResource host_resource(MemoryType type, int device_id);

/// Of `host_resource()`.
[[nodiscard]] MEMARRAY_API PoolingAdaptor::Statistics host_memory_statistics() noexcept;

/// Gives what the pool keeps back to the system, all but the newest `keep` bytes. Returns the bytes given back.
MEMARRAY_API std::size_t trim(std::size_t keep = 0) noexcept;

}  // namespace memarray
