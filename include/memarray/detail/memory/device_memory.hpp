#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/base/fork_lock.hpp>
#include <memarray/detail/driver/queue.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/memory/pooling_adaptor.hpp>
#include <memarray/memory/resource.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace memarray::detail {

class DeviceMemory;
using DeviceMemoryPtr = std::shared_ptr<DeviceMemory>;

/// What the library keeps for one device of one driver: its context, where its memory comes from, pinned memory for
/// copies, a stream for the library's own errands, events to use again. Made when it is first asked for. Blocks keep
/// it; the library's own reference goes when the driver is a simulated one whose block ends.
class MEMARRAY_API DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  /// Of the driver that new handles are made with. Throws `CudaError`: no driver, no such device, what it answered.
  [[nodiscard]] static DeviceMemoryPtr of(int device_id);
  /// The same if it has been asked for before, else null; calls nothing of the driver.
  [[nodiscard]] static DeviceMemoryPtr known(int device_id) noexcept;

  DeviceMemory(DeviceMemory const&) = delete;
  DeviceMemory& operator=(DeviceMemory const&) = delete;
  ~DeviceMemory();

  [[nodiscard]] int device_id() const noexcept { return _device_id; }
  [[nodiscard]] ContextHandle const& context() const noexcept { return _context; }
  [[nodiscard]] DriverTable const& driver() const noexcept { return *_driver; }
  [[nodiscard]] MemoryResource const& memory() const noexcept { return _memory; }
  /// Where that memory comes from; null where the device has no pools.
  [[nodiscard]] MemoryPoolHandle const& pool() const noexcept { return _pool; }
  /// Pinned host memory, kept for the next copy when it comes back.
  [[nodiscard]] MemoryResource const& staging() const noexcept { return _staging; }
  /// A stream that waits for nobody and that nobody waits for. Throws `CudaError` when it cannot be made.
  [[nodiscard]] Queue errands();
  /// Gives the device what nobody uses of its memory, and the system what is kept of pinned memory.
  void trim() noexcept;
  /// An event that stands for nothing yet; null with the last error set. It comes back when its last handle goes.
  [[nodiscard]] EventHandle event() noexcept;
  /// Whether copies to and from `other` need not go through the host. Opens the way the first time.
  [[nodiscard]] bool reaches(DeviceMemory& other) noexcept;
  /// True if unified memory of the driver is at `address` that this device and the host may use at the same time.
  [[nodiscard]] bool shares_with_host(void const* address) const noexcept;

 private:
  struct LentEvent;
  DeviceMemory(int device_id, ContextHandle context);
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
  StreamHandle _errands;
  std::vector<EventHandle> _events;
  std::vector<int> _reached;  // ordinals of devices that the way is open to
  bool _is_over = false;
};

/// Lets go of what the library keeps for the devices of a driver.
void drop_device_memory(DriverTable const* driver) noexcept;

}  // namespace memarray::detail
