#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/base/fork_lock.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/memory/pooling_adaptor.hpp>
#include <memarray/memory/resource.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace memarray::detail {

class DeviceMemory;
using DeviceMemoryPtr = std::shared_ptr<DeviceMemory>;

/// The library's resources for one device of one driver, created on first use. Blocks share ownership; the library's
/// reference ends with simulated devices.
class MEMARRAY_API DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  /// Uses the current driver. Throws `CudaError`.
  [[nodiscard]] static DeviceMemoryPtr of(int device_id);
  /// Like `of`, but null if not created yet. Calls no driver function once the driver is loaded.
  [[nodiscard]] static DeviceMemoryPtr known(int device_id) noexcept;

  DeviceMemory(DeviceMemory const&) = delete;
  DeviceMemory& operator=(DeviceMemory const&) = delete;
  ~DeviceMemory();

  [[nodiscard]] int device_id() const noexcept { return _device_id; }
  [[nodiscard]] ContextHandle const& context() const noexcept { return _context; }
  [[nodiscard]] DriverTable const& driver() const noexcept { return *_driver; }
  [[nodiscard]] MemoryResource const& memory() const noexcept { return _memory; }
  /// Returns null if the device has no pools.
  [[nodiscard]] MemoryPoolHandle const& pool() const noexcept { return _pool; }
  /// Returns a caching resource of pinned host memory.
  [[nodiscard]] MemoryResource const& staging() const noexcept { return _staging; }
  /// Returns the internal stream, which does not synchronise with the legacy default stream. Throws `CudaError`.
  [[nodiscard]] BoundStream internal_stream();
  /// Creates another such stream, for its holders alone. Throws `CudaError`.
  [[nodiscard]] BoundStream make_stream() const;
  /// Releases unused memory of the pool and of `staging`.
  void trim() noexcept;
  /// Returns an event, reused after its last handle; null on failure.
  [[nodiscard]] EventHandle event() noexcept;
  /// Enables `other` to access this device's memory. True if it can, which allows copies both ways.
  [[nodiscard]] bool reaches(DeviceMemory& other) noexcept;
  /// True if this device and the host may use the unified memory at `address` concurrently.
  [[nodiscard]] bool shares_with_host(void const* address) const noexcept;

 private:
  struct PooledEvent;
  DeviceMemory(int device_id, ContextHandle context);
  [[nodiscard]] ForkLockGuard guard() noexcept;
  void take_back(EventHandle event) noexcept;
  void drop_caches() noexcept;
  friend void drop_device_memory(DriverTable const* driver) noexcept;

  int _device_id;
  ContextHandle _context;
  DriverTable const* _driver;
  MemoryPoolHandle _pool;
  MemoryResource _memory;
  PoolingAdaptor _staging_pool;
  MemoryResource _staging;
  ForkLock _lock;
  StreamHandle _internal_stream;
  std::vector<EventHandle> _events;
  std::vector<int> _reached;
  bool _is_over = false;
};

/// Drops the library's references to a driver's `DeviceMemory`, and their caches.
void drop_device_memory(DriverTable const* driver) noexcept;

}  // namespace memarray::detail
