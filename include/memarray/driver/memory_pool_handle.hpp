#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/handle.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray {

/// The options of a stream-ordered pool.
struct MemoryPoolOptions {
  std::uint64_t release_threshold = UINT64_MAX;  ///< bytes that a synchronization leaves reserved
  std::size_t max_size = 0;                      ///< in bytes; 0: the driver decides
};

/// Creates a pool (`cuMemPoolCreate`), destroyed after its last handle and pointer. Null with code 801
/// (CUDA_ERROR_NOT_SUPPORTED) if the device has no pools.
[[nodiscard]] MEMARRAY_API MemoryPoolHandle create_memory_pool_handle(int device_id,
                                                                      MemoryPoolOptions const& options = {}) noexcept;
/// Returns the device's default pool (`cuDeviceGetDefaultMemPool`), which is never destroyed.
[[nodiscard]] MEMARRAY_API MemoryPoolHandle get_device_memory_pool(int device_id) noexcept;
[[nodiscard]] MEMARRAY_API MemoryPoolHandle create_memory_pool_handle_ref(cu::MemoryPool pool, int device_id) noexcept;
[[nodiscard]] MEMARRAY_API MemoryPoolHandle create_memory_pool_handle_with_owner(cu::MemoryPool pool, KeepAlive owner,
                                                                                 int device_id) noexcept;

/// Returns the primary context of the pool's device; null for a null handle.
[[nodiscard]] MEMARRAY_API ContextHandle const& context_of(MemoryPoolHandle const& pool) noexcept;

/// A pool's bytes, counted by the driver.
struct MemoryPoolStatistics {
  std::uint64_t reserved = 0;       ///< allocated from the device
  std::uint64_t reserved_high = 0;  ///< maximum so far
  std::uint64_t used = 0;           ///< in use by allocations
  std::uint64_t used_high = 0;      ///< maximum so far
};

/// Sets `statistics`. On failure, returns false with the last error set, like the next two functions, and changes
/// nothing.
[[nodiscard]] MEMARRAY_API bool get_statistics(MemoryPoolHandle const& pool, MemoryPoolStatistics& statistics) noexcept;
/// Sets `MemoryPoolOptions::release_threshold`.
[[nodiscard]] MEMARRAY_API bool set_release_threshold(MemoryPoolHandle const& pool, std::uint64_t bytes) noexcept;
/// Returns unused memory to the device until `bytes_to_keep` bytes stay reserved (`cuMemPoolTrimTo`).
[[nodiscard]] MEMARRAY_API bool trim(MemoryPoolHandle const& pool, std::size_t bytes_to_keep = 0) noexcept;

}  // namespace memarray
