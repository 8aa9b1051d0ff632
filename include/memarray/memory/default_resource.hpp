#pragma once

#include <cstddef>

#include <memarray/base/config.hpp>
#include <memarray/memory/pooling_adaptor.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray {

/// Returns the resource of the arrays' host memory: pageable memory, pooled. It is never destroyed, so any thread may
/// free memory to it at any time, also while the process exits.
[[nodiscard]] MEMARRAY_API MemoryResource host_resource() noexcept;

/// Returns a resource of host-accessible memory. `normal` gives `host_resource()`. `pinned` memory is cached until the
/// device is trimmed. `unified` memory is also accessible to work on the device. Throws `ValueError` for device memory,
/// `CudaError` if the device does not exist.
[[nodiscard]] MEMARRAY_API MemoryResource host_resource(MemoryType type, int device_id);

/// Returns the pool statistics of `host_resource()`.
[[nodiscard]] MEMARRAY_API PoolingAdaptor::Statistics host_memory_statistics() noexcept;

/// Releases the memory that `host_resource()` caches to the system, except the newest `keep` bytes. Returns the bytes
/// released.
MEMARRAY_API std::size_t trim(std::size_t keep = 0) noexcept;

}  // namespace memarray
