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

/// The pending work on one piece of memory: the last write and the reads since. Readers on other streams wait for the
/// write, writers for all. Any thread may call any function; the array's lock separates conflicting users.
class MEMARRAY_API StreamDependencies {
 public:
  explicit StreamDependencies(DeviceMemoryPtr memory) noexcept : _memory(std::move(memory)) {}

  [[nodiscard]] DeviceMemory& memory() const noexcept { return *_memory; }
  [[nodiscard]] DeviceMemoryPtr const& memory_ptr() const noexcept { return _memory; }

  /// Makes later work in `queue` wait for the pending work that `use` depends on. Throws `CudaError`.
  void order(BoundStream const& queue, Use use, char const* site);
  /// Like `order`, but blocks the host, with a report. Throws `CudaError`, also for failed work.
  void synchronize(Use use, char const* site);
  /// Records work submitted after `order`. Several write ends belong to one writer. Later writes through escaped views
  /// wait for recorded reads.
  void submitted(std::span<PendingWork const> ends, Use use) noexcept;
  void submitted(PendingWork const& end, Use use) noexcept { submitted(std::span(&end, 1), use); }
  /// Makes later uses of imported memory wait for its producer's work in `queue`, which does not count as a use. Throws
  /// `CudaError`.
  void begin_after(BoundStream const& queue, char const* site);
  // A lease's holder and its consumers may submit work at any time until it closes.
  using Lease = std::uint64_t;
  /// Opens a lease on the queue `own`. Does not call the driver.
  [[nodiscard]] Lease open_lease(BoundStream const& own, Use use);
  /// Exports the memory for use in `queue` (null: the lease's own), after the pending work and the lease's other
  /// streams. `known`: no other stream will use the memory. Returns false if the lease is closed. Throws `CudaError`.
  [[nodiscard]] bool export_to(Lease lease, BoundStream const* queue, bool known);
  /// Like `export_to` under the open write lease, for its own and unknown streams. False without a write lease.
  bool export_for_writer();
  /// Returns none if the lease is closed.
  [[nodiscard]] std::optional<BoundStream> queue_of(Lease lease);
  /// Like `export_to`, for an escaped view. The next user of the memory calls `fence_escaped` first.
  void export_escaped(BoundStream const& queue, Use use, bool known);
  /// Closes a lease and records the work in its streams. `alive`: views of the lease may still be used.
  void close_lease(Lease lease, bool alive) noexcept;

  /// Records work of escaped views, before a use of kind `before`. `alive`: some views are alive. Returns false with
  /// the last error set; the next call retries.
  [[nodiscard]] bool fence_escaped(Use before, bool alive) noexcept;
  /// True if no escaped views and no pending work, except the producer's, are known.
  [[nodiscard]] bool is_unused() noexcept;
  [[nodiscard]] std::vector<PendingWork> all();

 private:
  struct Entry {
    PendingWork use;  // without an event, only the queue counts
    bool is_behind_writes;
  };
  using Events = std::vector<EventHandle>;
  [[nodiscard]] ForkLockGuard guard() noexcept;
  static constexpr std::size_t least_kept_reads = 16;

  struct LeaseStream {
    Lease lease;
    BoundStream queue;
    Use use;
    bool is_used;   // the queue may have work on the memory
    bool is_known;  // no other stream has
  };

  [[nodiscard]] Events events_before(BoundStream const* queue, Use use);
  [[nodiscard]] std::vector<BoundStream> streams_leased_for_writing(BoundStream const* but);
  void find_ends();
  void forget(Events const& over) noexcept;
  void forget_ended_reads() noexcept;
  void fence_one(BoundStream const& queue, Use use) noexcept;
  void hold_back_escaped(std::span<PendingWork const> ends) noexcept;
  void remember(std::span<PendingWork const> ends, Use use) noexcept;
  void escaped(LeaseStream const& entry) noexcept;

  DeviceMemoryPtr _memory;
  ForkLock _lock;
  std::vector<PendingWork> _writes;  // of the last writer's streams
  bool _writes_were_before = false;  // `_writes` is the producer's work
  std::vector<Entry> _reads;
  std::size_t _kept_reads = least_kept_reads;  // above it, completed reads are removed
  std::vector<LeaseStream> _lease_streams;     // exports of open leases
  std::vector<BoundStream> _escaped;
  bool _escaped_anywhere = false;
  bool _escaped_writable = false;
};

}  // namespace memarray::detail
