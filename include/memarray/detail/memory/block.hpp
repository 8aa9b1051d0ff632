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
class StreamUses;
struct Queue;

using BlockPtr = IntrusivePtr<Block>;

/// Where others count a block's exports too: all processes that have its memory.
struct ExportTally {
  void (*add)(ExportTally& tally, bool writable);  ///< may throw
  void (*drop)(ExportTally& tally, bool writable) noexcept;
};

/// As what managed memory is lent: CUDA's, or the host's where devices are simulated and not lent as CUDA.
[[nodiscard]] Device lent_managed_device() noexcept;

/// One piece of memory on one device, with its owner: the only thing in the library that owns memory.
///
/// References and live exports are counted in one word, so that an export costs one add and its drop another, and
/// the last of either kind frees the memory. Exports are counted apart, writable from read-only: they decide whether an
/// array may write in place. Dropping is a release and every look at the counts an acquire: who sees no exports
/// knows that their holders' reads are over. All functions may be called from any thread.
class MEMARRAY_API Block {
 public:
  /// How many exports of each kind are alive.
  struct Exports {
    std::uint32_t read_only;
    std::uint32_t writable;
    [[nodiscard]] std::uint32_t total() const noexcept { return read_only + writable; }
  };
  enum class Contents { uninitialized, zero };

  /// Memory of `resource` that the host reaches, by default of `host_resource()`, 64-byte aligned. Throws
  /// `OutOfMemoryError`.
  [[nodiscard]] static BlockPtr allocate(std::optional<MemoryResource> const& resource, std::size_t bytes,
                                         Contents contents);
  /// Uninitialised memory of a device, there for work submitted to `queue` from now on. Throws `OutOfMemoryError`,
  /// `CudaError`.
  [[nodiscard]] static BlockPtr allocate(std::shared_ptr<DeviceMemory> const& memory, Queue const& queue,
                                         std::size_t bytes);
  /// What keeps memory that is not ours, and how it is let go of: once, on any thread, with or without an interpreter.
  struct Keeper {
    void* object = nullptr;
    void (*drop)(void* object) noexcept = nullptr;  ///< may be null
  };
  /// Memory that `keeper` keeps until the last reference and export are gone. The keeper is taken over, also when this
  /// throws (`std::bad_alloc`).
  [[nodiscard]] static BlockPtr adopt(void* data, std::size_t bytes, Device device, MemoryType type, Keeper keeper);
  /// The same, with one counted export instead of the reference.
  [[nodiscard]] static Block& adopt_exported(void* data, std::size_t bytes, Device device, MemoryType type,
                                             Keeper keeper, bool writable);
  /// A part of another block, which `keeper` keeps with an export: what uses either on streams is a use of both.
  [[nodiscard]] static BlockPtr adopt_part(Block& whole, void* data, std::size_t bytes, Keeper keeper);
  /// All of `host`, which is unified memory, as work on the device of `memory` uses it. `keeper` keeps `host` with an
  /// export. Null unless the driver says that this device and the host may use the memory at the same time.
  [[nodiscard]] static BlockPtr on_device(Block& host, std::shared_ptr<DeviceMemory> const& memory, Keeper keeper);

  Block(Block const&) = delete;
  Block& operator=(Block const&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return _data; }
  [[nodiscard]] std::size_t bytes() const noexcept { return _bytes; }
  [[nodiscard]] Device device() const noexcept { return _device; }
  [[nodiscard]] bool is_foreign() const noexcept { return _foreign; }
  /// The keeper of foreign memory, borrowed; empty for memory of our own.
  [[nodiscard]] Keeper keeper() const noexcept;
  [[nodiscard]] MemoryType memory_type() const noexcept { return _type; }
  /// True if work on a stream uses the memory, and the host does not touch it.
  [[nodiscard]] bool is_on_device() const noexcept { return !_device.is_cpu(); }
  /// The block that has the same unified memory on the host; null for every other block.
  [[nodiscard]] Block* host_side() const noexcept { return _host_side; }
  /// Where DLPack says that it is: a simulated device is an extension device, managed memory is everybody's.
  [[nodiscard]] Device lent_device() const noexcept;

  /// Which streams use it; null if none ever did, as for most memory of the host.
  [[nodiscard]] StreamUses* uses() const noexcept {
    return (_whole ? _whole : this)->_uses.load(std::memory_order_acquire);
  }
  /// The same, made if need be, for work on the device of `memory`.
  [[nodiscard]] StreamUses& uses_on(std::shared_ptr<DeviceMemory> const& memory);
  /// Counts uses of views that outlived their lease, before somebody uses the memory. Throws `CudaError`.
  void fence(bool to_write);

  void retain() noexcept { _counts.fetch_add(reference, std::memory_order_relaxed); }
  void release() noexcept { drop(reference); }

  /// Counts a live export, which also keeps the memory; true if it is the only one. Throws `BufferError` past a million
  /// of a kind.
  bool add_export(bool writable) {
    if (_tally) [[unlikely]]
      _tally->add(*_tally, writable);
    std::uint64_t const one = writable ? writable_export : read_only_export;
    std::uint64_t const before = _counts.fetch_add(one, std::memory_order_seq_cst);
    if ((before & (writable ? writable_limit : read_only_limit)) != 0) too_many_exports(one);
    return before < read_only_export;
  }
  /// Room for the description of an export, for whoever `add_export` told that it is the only one, until it is dropped:
  /// the usual export allocates nothing.
  static constexpr std::size_t only_export_room = 192;
  [[nodiscard]] void* only_export() noexcept { return _only_export; }
  void drop_export(bool writable) noexcept {
    if (_tally) [[unlikely]]
      _tally->drop(*_tally, writable);
    drop(writable ? writable_export : read_only_export);
  }
  /// Before the first export. `tally` lives as long as the block.
  void count_exports_in(ExportTally& tally) noexcept { _tally = &tally; }

  /// Those of this process.
  [[nodiscard]] Exports exports() const noexcept {
    std::uint64_t const counts = _counts.load(std::memory_order_seq_cst);
    return {static_cast<std::uint32_t>((counts / read_only_export) & field),
            static_cast<std::uint32_t>(counts / writable_export)};
  }
  /// References and exports together: the block is destroyed when none is left.
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
  /// Has `run` called where the driver may be, with room for the request in the block.
  void destroy_later(void (*run)(Block*) noexcept) noexcept;

  void drop(std::uint64_t one) noexcept {
    // Who is alone needs no atomic addition: only its holders could let others count.
    if (_counts.load(std::memory_order_acquire) == one) return _destroy(this);
    if (_counts.fetch_sub(one, std::memory_order_release) == one) {
      // Pairs with the releases of all who let go before: their accesses end before the memory does.
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
  Block* _whole = nullptr;      // that it is a part of
  Block* _host_side = nullptr;  // kept by the keeper
  std::atomic<StreamUses*> _uses{nullptr};
  void (*_destroy)(Block*) noexcept;
  alignas(std::max_align_t) std::byte _only_export[only_export_room];
};

/// Drops a keeper. A drop may drop the keepers of other blocks: deep nesting is put off until the outermost call on the
/// thread ends, so that a chain of blocks of any length needs little stack.
MEMARRAY_API void drop_keeper(Block::Keeper keeper) noexcept;

/// Drops a keeper unless somebody took it over.
class KeeperGuard {
 public:
  explicit KeeperGuard(Block::Keeper keeper) noexcept : _keeper(keeper) {}
  ~KeeperGuard() {
    if (_keeper.drop) drop_keeper(_keeper);
  }
  KeeperGuard(KeeperGuard const&) = delete;
  KeeperGuard& operator=(KeeperGuard const&) = delete;
  [[nodiscard]] Block::Keeper release() noexcept { return std::exchange(_keeper, Block::Keeper()); }
  [[nodiscard]] Block::Keeper const& get() const noexcept { return _keeper; }

 private:
  Block::Keeper _keeper;
};

/// Of what a `shared_ptr` keeps. Throws `std::bad_alloc`.
[[nodiscard]] MEMARRAY_API Block::Keeper keeper_of(std::shared_ptr<void const> keep_alive);

}  // namespace memarray::detail
