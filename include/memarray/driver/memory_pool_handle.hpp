#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/handle.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray {

/// How a pool of stream-ordered device memory is made.
struct MemoryPoolOptions {
  std::uint64_t release_threshold = UINT64_MAX;  ///< bytes it keeps when it synchronises instead of giving them back
  std::size_t max_size = 0;                      ///< bytes it may grow to; 0: the driver decides
};

/// A pool of memory on a device. It goes when the last handle and the last pointer from it are gone. Null with code
/// 801 where the device has no pools.
[[nodiscard]] MEMARRAY_API MemoryPoolHandle create_memory_pool_handle(int device_id,
                                                                      MemoryPoolOptions const& options = {}) noexcept;
/// The device's own pool, which nobody destroys.
[[nodiscard]] MEMARRAY_API MemoryPoolHandle get_device_memory_pool(int device_id) noexcept;
[[nodiscard]] MEMARRAY_API MemoryPoolHandle create_memory_pool_handle_ref(cu::MemoryPool pool, int device_id) noexcept;
[[nodiscard]] MEMARRAY_API MemoryPoolHandle create_memory_pool_handle_with_owner(cu::MemoryPool pool, KeepAlive owner,
                                                                                 int device_id) noexcept;

/// The primary context of the pool's device.
[[nodiscard]] MEMARRAY_API ContextHandle const& context_of(MemoryPoolHandle const& pool) noexcept;

/// Bytes, as the driver counts them.
struct MemoryPoolStatistics {
  std::uint64_t reserved = 0;       ///< had from the device
  std::uint64_t reserved_high = 0;  ///< at most
  std::uint64_t used = 0;           ///< handed out
  std::uint64_t used_high = 0;
};

/// False with the last error set.
[[nodiscard]] MEMARRAY_API bool get_statistics(MemoryPoolHandle const& pool, MemoryPoolStatistics& statistics) noexcept;
[[nodiscard]] MEMARRAY_API bool set_release_threshold(MemoryPoolHandle const& pool, std::uint64_t bytes) noexcept;
/// Gives memory that nobody uses back to the device, but for `bytes_to_keep`.
[[nodiscard]] MEMARRAY_API bool trim(MemoryPoolHandle const& pool, std::size_t bytes_to_keep = 0) noexcept;

}  // namespace memarray
