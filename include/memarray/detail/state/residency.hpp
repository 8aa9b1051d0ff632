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

/// An array's memory: its sides, device and host resource. `array` parameters are the state that has this residency.
class MEMARRAY_API Residency {
 public:
  /// `device_id`: the device to which host memory moves by default.
  Residency(BlockPtr block, int device_id, std::optional<MemoryResource> resource) noexcept;

  // Any thread may call these without the lock.
  [[nodiscard]] bool on_device() const noexcept { return facts().on_device; }
  [[nodiscard]] int device_id() const noexcept { return facts().device_id; }
  [[nodiscard]] Device device() const noexcept;
  /// Returns the DLPack device: an extension device if simulated, a managed one for unified host memory.
  [[nodiscard]] Device exported_device() const noexcept;
  [[nodiscard]] MemoryType memory_type() const noexcept { return static_cast<MemoryType>(facts().memory_type); }
  [[nodiscard]] bool is_foreign() const noexcept { return facts().is_foreign; }
  /// Throws `ValueError` unless `device` is the CPU or a CUDA device, `CudaError` if it does not exist.
  void check_reachable(ArrayState const& array, Device device, char const* what) const;

  // The functions below require the array's lock, which element access only checks.
  [[nodiscard]] Storage const& storage() const noexcept { return _storage; }
  [[nodiscard]] Block& block() const noexcept { return *_storage.block(); }
  [[nodiscard]] Block::Exports exports() const noexcept { return _storage.exports(); }
  /// Without `device`, returns the current side.
  [[nodiscard]] Side side_on(std::optional<Device> const& device) const noexcept;

  /// Requires a block on the device side.
  [[nodiscard]] BoundStream bind(StreamChoice const& stream) const;
  /// Returns the default stream on the host, or if `stream` is another device's.
  [[nodiscard]] StreamChoice stream_here(StreamChoice const& stream) const;
  /// Returns uninitialised memory on the current side, for use in `stream`.
  [[nodiscard]] BlockPtr allocate(ArrayState const& array, std::size_t bytes, StreamChoice const& stream) const;
  /// Like `allocate`, with a reported copy of the contents. `why` completes "as …".
  [[nodiscard]] BlockPtr copy_block(ArrayState const& array, char const* why, StreamChoice const& stream) const;

  /// Makes the other side stale.
  void wrote() noexcept { _storage.wrote(_storage.current()); }
  /// Returns the replaced block.
  BlockPtr replace(BlockPtr fresh) noexcept;
  /// Continues in a copy, and leaves the block to its escaped views.
  void detach(ArrayState const& array, char const* why, StreamChoice const& stream);
  /// Makes the side on `target` current. Copies to a stale one, unless `mode` is `overwrite`.
  void arrive(ArrayState const& array, Device target, StreamChoice const& stream, AccessMode mode, CopyMode ending);
  void swap(Residency& other) noexcept;
  /// Returns none for the default resource.
  [[nodiscard]] std::optional<MemoryResource> const& resource() const noexcept { return _resource; }

  struct Snapshot {
    Storage storage;
    int device_id;
  };
  [[nodiscard]] Snapshot snapshot() const noexcept { return {_storage, device_id()}; }
  void restore(Snapshot&& before) noexcept;
  /// Requires a valid side. `device_id` is as in the constructor.
  void make_current(Side side, int device_id) noexcept;

 private:
  /// Facts of one moment, in one atomic value.
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
  void publish(int device_id) noexcept;

  Storage _storage;
  std::atomic<Facts> _facts{};
  std::optional<MemoryResource> _resource;
};

/// Waits for pending work that conflicts with `use`: in `stream` on a device, else by blocking. Throws `CudaError`.
MEMARRAY_API void await(Block& block, Use use, StreamChoice const& stream);

}  // namespace memarray::detail
