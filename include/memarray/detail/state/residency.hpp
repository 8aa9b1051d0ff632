#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/device.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/memory/storage.hpp>
#include <memarray/detail/state/access_mode.hpp>
#include <memarray/driver/stream_choice.hpp>
#include <memarray/memory/resource.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace memarray::detail {

class ArrayState;
struct BoundStream;
enum class CopyMode : bool;

/// Where the memory of an array is: its sides, the device that it belongs to, and the resource of its host memory.
///
/// Functions that take an `ArrayState` use its size, policy and description; it is the state that has this residency.
class MEMARRAY_API Residency {
 public:
  /// Starts with `block`. `device_id`: the device that host memory moves to by default.
  Residency(BlockPtr block, int device_id, std::optional<MemoryResource> resource) noexcept;

  // Any thread may call these, without the lock. Each returns a fact of one moment.
  [[nodiscard]] bool on_device() const noexcept { return facts().on_device; }
  [[nodiscard]] int device_id() const noexcept { return facts().device_id; }
  [[nodiscard]] Device device() const noexcept;
  /// Returns the device in DLPack's terms: an extension device for a simulated device, a managed device for unified
  /// memory on the host.
  [[nodiscard]] Device exported_device() const noexcept;
  [[nodiscard]] MemoryType memory_type() const noexcept { return static_cast<MemoryType>(facts().memory_type); }
  /// True if the current memory has another owner.
  [[nodiscard]] bool is_foreign() const noexcept { return facts().is_foreign; }
  /// Throws `ValueError` unless `device` is the CPU or a CUDA device, `CudaError` if this process has no such device.
  void check_reachable(ArrayState const& array, Device device, char const* what) const;

  // The caller of all others holds the array's lock. Element access only checks it, and reads the current block.
  [[nodiscard]] Storage const& storage() const noexcept { return _storage; }
  /// Returns the current side's block.
  [[nodiscard]] Block& block() const noexcept { return *_storage.block(); }
  /// Returns the live exports of the contents, on all valid sides and in all processes.
  [[nodiscard]] Block::Exports exports() const noexcept { return _storage.exports(); }
  /// Returns the side on `device`; by default the current one.
  [[nodiscard]] Side side_on(std::optional<Device> const& device) const noexcept;

  /// Returns the stream, bound to the context of the device side, which must have a block.
  [[nodiscard]] BoundStream bind(StreamChoice const& stream) const;
  /// Returns the stream if it is of the current side's device, else the default one: a move may name a stream of either
  /// device.
  [[nodiscard]] StreamChoice stream_here(StreamChoice const& stream) const;
  /// Allocates uninitialised memory for `bytes` bytes of the current side, for use in `stream`. Does not make it part
  /// of the array.
  [[nodiscard]] BlockPtr allocate(ArrayState const& array, std::size_t bytes, StreamChoice const& stream) const;
  /// Like `allocate`, with a copy of the current contents. Reports the copy. `why` completes "as …".
  [[nodiscard]] BlockPtr copy_block(ArrayState const& array, char const* why, StreamChoice const& stream) const;

  /// Records a write in place: the other side is now stale.
  void wrote() noexcept { _storage.wrote(_storage.current()); }
  /// Makes `fresh` the contents, on the current side. Returns the block that it replaces.
  BlockPtr replace(BlockPtr fresh) noexcept;
  /// Leaves the current block to its escaped views: the array continues in a copy.
  void detach(ArrayState const& array, char const* why, StreamChoice const& stream);
  /// Makes the side on `target` current. Copies the contents if that side is stale and `mode` reads them.
  void arrive(ArrayState const& array, Device target, StreamChoice const& stream, AccessMode mode, CopyMode ending);
  /// Swaps the memory with that of another array.
  void swap(Residency& other) noexcept;
  /// Returns the resource of host memory; none for the default one.
  [[nodiscard]] std::optional<MemoryResource> const& resource() const noexcept { return _resource; }

  /// The sides at one moment, to restore after a failure. Keeps their memory.
  struct Snapshot {
    Storage storage;
    int device_id;
  };
  [[nodiscard]] Snapshot snapshot() const noexcept { return {_storage, device_id()}; }
  void restore(Snapshot&& before) noexcept;
  /// Makes a valid side current. `device_id`: the array's device while it is on the host.
  void make_current(Side side, int device_id) noexcept;

 private:
  /// Facts about the current side, stored together so that other threads read facts of one moment.
  struct Facts {
    std::int32_t device_id = 0;
    std::uint8_t exported_type = 0;  // `DLDeviceType` of a current device side
    std::uint8_t memory_type = 0;
    bool on_device : 1 = false;
    bool is_foreign : 1 = false;
    bool has_device_side : 1 = false;
  };
  static_assert(std::atomic<Facts>::is_always_lock_free);

  [[nodiscard]] Facts facts() const noexcept { return _facts.load(std::memory_order_relaxed); }
  /// Stores the facts about the current block. `device_id`: the array's device while it is on the host.
  void publish(int device_id) noexcept;

  Storage _storage;
  std::atomic<Facts> _facts{};
  std::optional<MemoryResource> _resource;
};

/// Waits for the pending work on `block` that conflicts with `use`: in `stream` on a device, else by blocking. Throws
/// `CudaError`.
MEMARRAY_API void await(Block& block, Use use, StreamChoice const& stream);

}  // namespace memarray::detail
