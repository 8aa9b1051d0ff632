#pragma once

#include <cstddef>

#include <memarray/base/config.hpp>
#include <memarray/memory/pooling_adaptor.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray {

/// Returns the pool of host arrays. Never destroyed: threads may free memory even at exit.
[[nodiscard]] MEMARRAY_API MemoryResource host_resource() noexcept;

/// Returns host-accessible memory: `normal` is `host_resource()`, `pinned` is cached until the device is trimmed,
/// `unified` also serves the device. Throws `ValueError` for `device`, `CudaError` for an unknown device.
[[nodiscard]] MEMARRAY_API MemoryResource host_resource(MemoryType type, int device_id);

/// Returns the counts of `host_resource()`.
[[nodiscard]] MEMARRAY_API PoolingAdaptor::Statistics host_memory_statistics() noexcept;

/// Releases all but the newest `keep` bytes cached by `host_resource()`. Returns the bytes released.
MEMARRAY_API std::size_t trim(std::size_t keep = 0) noexcept;

}  // namespace memarray
