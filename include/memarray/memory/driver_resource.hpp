#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/memory/resource.hpp>

#include <cstddef>

namespace memarray {

/// Memory of the CUDA driver. It keeps the pool or context that it takes from. All functions throw `CudaError`, and
/// `OutOfMemoryError`, with what there was, after the pool was trimmed and the allocation tried once more. `ValueError`
/// for an alignment beyond `max_alignment`.
class MEMARRAY_API DriverResource {
 public:
  static constexpr std::size_t max_alignment = 256;

  /// A device's memory in the order of streams, from a pool.
  [[nodiscard]] static DriverResource from_pool(MemoryPoolHandle pool);
  /// A device's memory without a pool. Freeing it waits for the stream and the device.
  [[nodiscard]] static DriverResource device(ContextHandle context);
  /// Memory that the host and devices reach and the driver moves. Freeing it waits for the stream.
  [[nodiscard]] static DriverResource managed(ContextHandle context);
  /// Page-locked host memory. Freeing it waits for the stream.
  [[nodiscard]] static DriverResource pinned(ContextHandle context);
  /// The best for a device: a pool of its own that keeps what it has, or plain memory where there are no pools.
  [[nodiscard]] static DriverResource of_device(int device_id);

  [[nodiscard]] void* allocate(StreamHandle const& stream, std::size_t bytes,
                               std::size_t alignment = default_alignment);
  [[nodiscard]] void* allocate_zeroed(StreamHandle const& stream, std::size_t bytes,
                                      std::size_t alignment = default_alignment);
  /// In the order of `stream`. Whoever used the memory in other streams has made this one wait for them.
  void deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept;
  /// In the order of `stream` where the memory is a device's; here and now where the host reaches it.
  void zero(StreamHandle const& stream, void* pointer, std::size_t bytes);
  [[nodiscard]] bool zeroes_lazily(std::size_t) const noexcept { return false; }

  [[nodiscard]] MemoryType memory_type() const noexcept { return _type; }
  [[nodiscard]] ContextHandle const& context() const noexcept { return _context; }
  /// Null unless it takes from one.
  [[nodiscard]] MemoryPoolHandle const& pool() const noexcept { return _pool; }

  friend bool operator==(DriverResource const& left, DriverResource const& right) noexcept {
    return left._type == right._type && as_cu(left._context) == as_cu(right._context) &&
           as_cu(left._pool) == as_cu(right._pool);
  }

 private:
  DriverResource(MemoryType type, ContextHandle context, MemoryPoolHandle pool);

  [[noreturn]] void throw_failure(cu::Result code, std::size_t bytes) const;

  MemoryType _type;
  ContextHandle _context;
  MemoryPoolHandle _pool;
};

static_assert(ZeroingResource<DriverResource>);

}  // namespace memarray
