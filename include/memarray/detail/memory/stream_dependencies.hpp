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

/// The pending work on one piece of memory: the events of the last write and of the reads since. The next user on
/// another stream waits for exactly that: readers for the write, writers for all.
///
/// Any thread may call any function. The array's lock separates users that exclude each other.
class MEMARRAY_API StreamDependencies {
 public:
  explicit StreamDependencies(DeviceMemoryPtr memory) noexcept : _memory(std::move(memory)) {}

  [[nodiscard]] DeviceMemory& memory() const noexcept { return *_memory; }
  [[nodiscard]] DeviceMemoryPtr const& memory_ptr() const noexcept { return _memory; }

  /// Makes work submitted to `queue` from now on wait, on the device, for the pending work that `use` depends on.
  /// `site` names the place in the library. Throws `CudaError`.
  void order(BoundStream const& queue, Use use, char const* site);
  /// Blocks until the pending work that `use` depends on has completed. Reports the wait if it blocked. Throws
  /// `CudaError`, also for failed work.
  void synchronize(Use use, char const* site);
  /// Records work that waited for all that `use` depends on (see `order`). Several write ends belong to one writer.
  /// Later writes by holders of escaped views wait for recorded reads.
  void submitted(std::span<PendingWork const> ends, Use use) noexcept;
  void submitted(PendingWork const& end, Use use) noexcept { submitted(std::span(&end, 1), use); }
  /// Makes every later use of imported memory wait for its producer's work in `queue` so far. That work does not itself
  /// count as a use. Throws `CudaError`.
  void begin_after(BoundStream const& queue, char const* site);
  // The holder of a lease and its consumers may use the memory on their streams at any time until the lease closes.
  using Lease = std::uint64_t;
  /// Opens a lease on the queue `own`. Does not call the driver.
  [[nodiscard]] Lease open_lease(BoundStream const& own, Use use);
  /// Exports the memory for use in `queue`, or in the lease's own queue if null. Work there waits for the pending work
  /// that it depends on, and for the work in the lease's other streams so far. `known`: no other stream will use the
  /// memory. Returns false if the lease is closed. Throws `CudaError`.
  [[nodiscard]] bool export_to(Lease lease, BoundStream const* queue, bool known);
  /// Exports the memory under the open write lease, for use in its own stream and unknown others. Returns false if
  /// there is no write lease.
  bool export_for_writer();
  /// Returns a lease's own queue; none if the lease is closed.
  [[nodiscard]] std::optional<BoundStream> queue_of(Lease lease);
  /// Exports memory of an escaped view for use in `queue`, which waits for the pending work that `use` depends on. The
  /// next user of the memory calls `fence_escaped` first.
  void export_escaped(BoundStream const& queue, Use use, bool known);
  /// Records the work in the lease's streams so far as its uses. `alive`: views of the lease are alive, so their
  /// holders may continue to use the memory.
  void close_lease(Lease lease, bool alive) noexcept;

  /// Records work that holders of escaped views may have submitted meanwhile. Call it before a use of kind `before`.
  /// `alive`: some views are still alive. Returns false, with the last error set, on failure; the next call retries.
  [[nodiscard]] bool fence_escaped(Use before, bool alive) noexcept;
  /// True if no pending work, other than the producer's, and no escaped views are known.
  [[nodiscard]] bool is_unused() noexcept;
  /// Returns all pending work that the next writer would wait for.
  [[nodiscard]] std::vector<PendingWork> all();

 private:
  struct Entry {
    PendingWork use;  // only the queue counts if a read has no event
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
  std::vector<PendingWork> _writes;  // of the last writer, one for each of its streams
  bool _writes_were_before = false;  // `_writes` is the producer's work
  std::vector<Entry> _reads;
  std::size_t _kept_reads = least_kept_reads;  // above it, completed reads are removed
  std::vector<LeaseStream> _lease_streams;     // exports of open leases
  std::vector<BoundStream> _escaped;           // streams of escaped views
  bool _escaped_anywhere = false;
  bool _escaped_writable = false;
};

}  // namespace memarray::detail
