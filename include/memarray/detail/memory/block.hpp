#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/device.hpp>
#include <memarray/detail/base/intrusive_ptr.hpp>
#include <memarray/driver/stream_handle.hpp>
#include <memarray/memory/resource.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace memarray::detail {

class Block;
class DeviceMemory;
class StreamDependencies;
struct BoundStream;

using BlockPtr = IntrusivePtr<Block>;

/// A count of exports over all processes that share the memory.
struct ExportTally {
  struct Exports {
    std::uint32_t read_only;
    std::uint32_t writable;
    [[nodiscard]] std::uint32_t total() const noexcept { return read_only + writable; }
  };
  void (*add)(ExportTally& tally, bool writable);  ///< may throw
  void (*drop)(ExportTally& tally, bool writable) noexcept;
  Exports (*count)(ExportTally const& tally) noexcept;
};

/// Returns managed memory's DLPack device: the host unless devices are exported as CUDA.
[[nodiscard]] Device exported_managed_device() noexcept;

/// Memory on one device, and its only owner. Any thread may call any function.
///
/// One atomic word counts references, read-only and writable exports; the drop to zero frees the memory. Drops release
/// and reads acquire: a thread that sees no exports sees all accesses through them.
class MEMARRAY_API Block {
 public:
  using Exports = ExportTally::Exports;
  enum class Contents { uninitialized, zero };

  /// Allocates host memory, by default of `host_resource()`. Throws `OutOfMemoryError`; `ValueError` for device memory.
  [[nodiscard]] static BlockPtr allocate(std::optional<MemoryResource> const& resource, std::size_t bytes,
                                         Contents contents);
  /// Allocates uninitialised device memory for later work in `bound_stream`. Throws `CudaError`.
  [[nodiscard]] static BlockPtr allocate(std::shared_ptr<DeviceMemory> const& memory, BoundStream const& bound_stream,
                                         std::size_t bytes);
  /// The owner of foreign memory. `drop` runs once, on any thread, even without an interpreter.
  struct KeepAlive {
    void* object = nullptr;
    void (*drop)(void* object) noexcept = nullptr;  ///< may be null
  };
  /// Wraps foreign memory. Takes ownership of `keep_alive`, even if it throws `std::bad_alloc`.
  [[nodiscard]] static BlockPtr adopt(void* data, std::size_t bytes, Device device, MemoryType type,
                                      KeepAlive keep_alive);
  /// Like `adopt`, with one counted export instead of the reference.
  [[nodiscard]] static Block& adopt_exported(void* data, std::size_t bytes, Device device, MemoryType type,
                                             KeepAlive keep_alive, bool writable);
  /// Like `adopt`, for a part of `whole`, whose pending work it shares. `keep_alive` holds an export of `whole`.
  [[nodiscard]] static BlockPtr adopt_part(Block& whole, void* data, std::size_t bytes, KeepAlive keep_alive);
  /// Like `adopt_part`, for all of `host` on a device. Returns null unless `host` is unified memory that both may use
  /// concurrently, without another device's pending work.
  [[nodiscard]] static BlockPtr on_device(Block& host, std::shared_ptr<DeviceMemory> const& memory,
                                          KeepAlive keep_alive);

  Block(Block const&) = delete;
  Block& operator=(Block const&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return _data; }
  [[nodiscard]] std::size_t bytes() const noexcept { return _bytes; }
  [[nodiscard]] Device device() const noexcept { return _device; }
  [[nodiscard]] bool is_foreign() const noexcept { return _foreign; }
  /// Returns an empty one unless the memory is foreign.
  [[nodiscard]] KeepAlive keep_alive() const noexcept;
  [[nodiscard]] MemoryType memory_type() const noexcept { return _type; }
  /// True if only streams use the memory.
  [[nodiscard]] bool is_on_device() const noexcept { return !_device.is_cpu(); }
  /// Returns the block given to `on_device`, else null.
  [[nodiscard]] Block* host_side() const noexcept { return _host_side; }
  /// Returns the DLPack device of exports: an extension device if simulated, a managed one for unified memory.
  [[nodiscard]] Device exported_device() const noexcept;

  /// Returns null if no stream ever used the memory.
  [[nodiscard]] StreamDependencies* uses() const noexcept {
    return (_whole ? _whole : this)->_uses.load(std::memory_order_acquire);
  }
  /// Creates a missing record, for the device of `memory`.
  [[nodiscard]] StreamDependencies& uses_on(std::shared_ptr<DeviceMemory> const& memory);
  /// Records pending work of escaped views, before a use. Throws `CudaError`.
  void fence(bool to_write);

  void retain() noexcept { _counts.fetch_add(reference, std::memory_order_relaxed); }
  void release() noexcept { drop(reference); }

  /// Counts an export. True if it is the only one. Throws `BufferError` past a million of a kind.
  bool add_export(bool writable) {
    if (_tally) [[unlikely]]
      _tally->add(*_tally, writable);
    std::uint64_t const one = writable ? writable_export : read_only_export;
    std::uint64_t const before = _counts.fetch_add(one, std::memory_order_seq_cst);
    if ((before & (writable ? writable_limit : read_only_limit)) != 0) too_many_exports(one);
    return before < read_only_export;
  }
  /// Room for the struct of the only export (`add_export` returned true), to save an allocation.
  static constexpr std::size_t only_export_room = 192;
  [[nodiscard]] void* only_export() noexcept { return _only_export; }
  void drop_export(bool writable) noexcept {
    if (_tally) [[unlikely]]
      _tally->drop(*_tally, writable);
    drop(writable ? writable_export : read_only_export);
  }
  /// Counts exports in `tally`, too, which must outlive the block. Call before the first export.
  void count_exports_in(ExportTally& tally) noexcept { _tally = &tally; }

  /// Returns this process's live exports.
  [[nodiscard]] Exports exports() const noexcept {
    std::uint64_t const counts = _counts.load(std::memory_order_seq_cst);
    return {static_cast<std::uint32_t>((counts / read_only_export) & field),
            static_cast<std::uint32_t>(counts / writable_export)};
  }
  [[nodiscard]] Exports exports_everywhere() const noexcept { return _tally ? _tally->count(*_tally) : exports(); }
  /// Counts references and exports.
  [[nodiscard]] std::uint64_t holders() const noexcept {
    std::uint64_t const counts = _counts.load(std::memory_order_seq_cst);
    return (counts & field) + ((counts / read_only_export) & field) + counts / writable_export;
  }

 private:
  friend struct OwnedBlock;
  friend struct DeviceBlock;
  friend struct ForeignBlock;

  // [writable exports: 22 bits][read-only exports: 21][references: 21]
  static constexpr std::uint64_t reference = 1;
  static constexpr std::uint64_t field = (std::uint64_t{1} << 21) - 1;
  static constexpr std::uint64_t read_only_export = std::uint64_t{1} << 21;
  static constexpr std::uint64_t writable_export = std::uint64_t{1} << 42;
  static constexpr std::uint64_t read_only_limit = std::uint64_t{1} << 41;
  static constexpr std::uint64_t writable_limit = std::uint64_t{1} << 62;

  Block(std::byte* data, std::size_t bytes, Device device, MemoryType type, bool foreign,
        void (*destroy)(Block*) noexcept) noexcept;
  ~Block();
  void destroy_later(void (*run)(Block*) noexcept) noexcept;

  void drop(std::uint64_t one) noexcept {
    // A sole holder needs no atomic subtraction: no other thread can add a count.
    if (_counts.load(std::memory_order_acquire) == one) return _destroy(this);
    if (_counts.fetch_sub(one, std::memory_order_release) == one) {
      // Pairs with the releases of earlier drops.
      static_cast<void>(_counts.load(std::memory_order_acquire));
      _destroy(this);
    }
  }
  [[noreturn]] void too_many_exports(std::uint64_t one);

  std::atomic<std::uint64_t> _counts{reference};
  std::byte* _data;
  std::size_t _bytes;
  Device _device;
  MemoryType _type;
  bool _foreign;
  ExportTally* _tally = nullptr;
  Block* _whole = nullptr;      // null, or the block of which this is a part
  Block* _host_side = nullptr;  // kept by the keep-alive
  std::atomic<StreamDependencies*> _uses{nullptr};
  void (*_destroy)(Block*) noexcept;
  alignas(std::max_align_t) std::byte _only_export[only_export_room];
};

/// Calls `drop`. Deep nesting is deferred to the thread's outermost call, to bound the stack.
MEMARRAY_API void drop_keep_alive(Block::KeepAlive keep_alive) noexcept;

class KeepAliveGuard {
 public:
  explicit KeepAliveGuard(Block::KeepAlive keep_alive) noexcept : _keep_alive(keep_alive) {}
  ~KeepAliveGuard() {
    if (_keep_alive.drop) drop_keep_alive(_keep_alive);
  }
  KeepAliveGuard(KeepAliveGuard const&) = delete;
  KeepAliveGuard& operator=(KeepAliveGuard const&) = delete;
  [[nodiscard]] Block::KeepAlive release() noexcept { return std::exchange(_keep_alive, Block::KeepAlive()); }
  [[nodiscard]] Block::KeepAlive const& get() const noexcept { return _keep_alive; }

 private:
  Block::KeepAlive _keep_alive;
};

/// Throws `std::bad_alloc`.
[[nodiscard]] MEMARRAY_API Block::KeepAlive keep_alive_of(std::shared_ptr<void const> keep_alive);

}  // namespace memarray::detail
