#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/base/fork_lock.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/detail/memory/pending_work.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace memarray::detail {

/// Pending work on one piece of memory: the last write and the reads since. Readers on other streams wait for the
/// write, writers for all. Any thread may call any function; the array's lock separates conflicting users.
class MEMARRAY_API StreamDependencies {
 public:
  explicit StreamDependencies(DeviceMemoryPtr memory) noexcept : _memory(std::move(memory)) {}

  [[nodiscard]] DeviceMemory& memory() const noexcept { return *_memory; }
  [[nodiscard]] DeviceMemoryPtr const& memory_ptr() const noexcept { return _memory; }

  /// Makes later work in `bound_stream` wait for the pending work that `use` depends on. Throws `CudaError`.
  void order(BoundStream const& bound_stream, Use use, char const* site);
  /// Like `order`, but blocks the host (reported). Throws `CudaError`, also for failed work.
  void synchronize(Use use, char const* site);
  /// Records work submitted after `order`; several write ends belong to one writer. Later writes through escaped views
  /// wait for these reads.
  void submitted(std::span<PendingWork const> ends, Use use) noexcept;
  void submitted(PendingWork const& end, Use use) noexcept { submitted(std::span(&end, 1), use); }
  /// Makes uses of imported memory wait for its producer's work in `bound_stream`, which `is_unused` ignores. Throws
  /// `CudaError`.
  void begin_after(BoundStream const& bound_stream, char const* site);
  // Until a lease closes, its holder and consumers may submit work at any time.
  using Lease = std::uint64_t;
  /// Opens a lease on the stream `own`. Does not call the driver.
  [[nodiscard]] Lease open_lease(BoundStream const& own, Use use);
  /// Orders an export to `bound_stream` (null: the lease's own) after pending work and the lease's other streams.
  /// `known`: no other stream will use the memory. Returns false if the lease is closed. Throws `CudaError`.
  [[nodiscard]] bool export_to(Lease lease, BoundStream const* bound_stream, bool known);
  /// Calls `export_to` for the open write lease, in its own and unknown streams. Returns false without one.
  bool export_for_writer();
  /// Returns none if the lease is closed.
  [[nodiscard]] std::optional<BoundStream> stream_of(Lease lease);
  /// Like `export_to`, for an escaped view. The next user calls `fence_escaped` first.
  void export_escaped(BoundStream const& bound_stream, Use use, bool known);
  /// Closes a lease and records its streams' work. `alive`: its views may still be used.
  void close_lease(Lease lease, bool alive) noexcept;

  /// Records work of escaped views before a use of kind `before`. `alive`: some remain, so their streams stay known.
  /// Returns false with the last error set; the next call retries.
  [[nodiscard]] bool fence_escaped(Use before, bool alive) noexcept;
  /// True if no escaped views and no work but the producer's are known.
  [[nodiscard]] bool is_unused() noexcept;
  [[nodiscard]] std::vector<PendingWork> all();

 private:
  struct Entry {
    PendingWork use;        // without an event, only `bound_stream` counts
    bool is_behind_writes;  // `bound_stream` already waits for `_writes`
  };
  using Events = std::vector<EventHandle>;
  [[nodiscard]] ForkLockGuard guard() noexcept;
  static constexpr std::size_t least_kept_reads = 16;

  struct LeaseStream {
    Lease lease;
    BoundStream bound_stream;
    Use use;
    bool is_used;   // may have work on the memory
    bool is_known;  // no other stream has
  };

  [[nodiscard]] Events events_before(BoundStream const* bound_stream, Use use);
  [[nodiscard]] std::vector<BoundStream> streams_leased_for_writing(BoundStream const* but);
  void find_ends();
  void forget(Events const& over) noexcept;
  void forget_ended_reads() noexcept;
  void fence_one(BoundStream const& bound_stream, Use use) noexcept;
  void hold_back_escaped(std::span<PendingWork const> ends) noexcept;
  void remember(std::span<PendingWork const> ends, Use use) noexcept;
  void escaped(LeaseStream const& entry) noexcept;

  DeviceMemoryPtr _memory;
  ForkLock _lock;
  std::vector<PendingWork> _writes;  // of the last writer's streams
  bool _writes_were_before = false;  // `_writes` is the producer's work
  std::vector<Entry> _reads;
  std::size_t _kept_reads = least_kept_reads;  // above it, completed reads are removed
  std::vector<LeaseStream> _lease_streams;     // of open leases; a lease's own is its first
  std::vector<BoundStream> _escaped;
  bool _escaped_anywhere = false;
  bool _escaped_writable = false;
};

}  // namespace memarray::detail
