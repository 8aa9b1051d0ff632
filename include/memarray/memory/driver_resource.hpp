#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/memory/resource.hpp>

#include <cstddef>

namespace memarray {

/// Memory of the CUDA driver. Shares ownership of its pool or context.
///
/// Throws `CudaError`; `ValueError` for alignments above `max_alignment` and null streams. Null contexts and pools
/// throw the last error, or else `ValueError`. If memory runs out, waits for the context's work, trims pools and
/// retries; then `OutOfMemoryError` names free and total bytes.
class MEMARRAY_API DriverResource {
 public:
  static constexpr std::size_t max_alignment = 256;

  /// Makes a resource of stream-ordered device memory.
  [[nodiscard]] static DriverResource from_pool(MemoryPoolHandle pool);
  /// Makes a resource of unpooled device memory. Freeing waits for the stream and the device.
  [[nodiscard]] static DriverResource device(ContextHandle context);
  /// Makes a resource of managed memory. Freeing waits for the stream.
  [[nodiscard]] static DriverResource managed(ContextHandle context);
  /// Makes a resource of page-locked host memory. Freeing waits for the stream.
  [[nodiscard]] static DriverResource pinned(ContextHandle context);
  /// Makes a resource with a new pool, which keeps freed memory; like `device` if the device has no pools.
  [[nodiscard]] static DriverResource of_device(int device_id);

  [[nodiscard]] void* allocate(StreamHandle const& stream, std::size_t bytes,
                               std::size_t alignment = default_alignment);
  [[nodiscard]] void* allocate_zeroed(StreamHandle const& stream, std::size_t bytes,
                                      std::size_t alignment = default_alignment);
  /// Frees in the order of `stream`, which must already wait for other streams' work. A null `stream` stands for
  /// the legacy default stream.
  void deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept;
  void zero(StreamHandle const& stream, void* pointer, std::size_t bytes);
  [[nodiscard]] bool zeroes_lazily(std::size_t) const noexcept { return false; }

  [[nodiscard]] MemoryType memory_type() const noexcept { return _type; }
  [[nodiscard]] ContextHandle const& context() const noexcept { return _context; }
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
