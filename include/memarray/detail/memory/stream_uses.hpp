#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/base/fork_lock.hpp>
#include <memarray/detail/driver/queue.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/detail/memory/stream_use.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace memarray::detail {

/// Which work on streams uses one piece of memory: the events of the last write and of the reads since. Whoever uses it
/// next on another stream waits for exactly that: readers for the write, writers for all.
///
/// Any thread may call any function; two users that exclude each other are kept apart by the array's lock.
class MEMARRAY_API StreamUses {
 public:
  explicit StreamUses(DeviceMemoryPtr memory) noexcept : _memory(std::move(memory)) {}

  [[nodiscard]] DeviceMemory& memory() const noexcept { return *_memory; }
  [[nodiscard]] DeviceMemoryPtr const& memory_ptr() const noexcept { return _memory; }

  /// Work submitted to `queue` from now on comes after what `use` must come after; waits on the device. `site` says in
  /// which place of the library. Throws `CudaError`.
  void order(Queue const& queue, Use use, char const* site);
  /// The same for the host: blocks, and reports it when it did. Throws `CudaError`, the error of work that failed.
  void synchronize(Use use, char const* site);
  /// Work that came after all that `use` must come after ends so; several writes are one owner's. What holders of kept
  /// views write later comes after reads.
  void submitted(std::span<StreamUse const> ends, Use use) noexcept;
  void submitted(StreamUse const& end, Use use) noexcept { submitted(std::span(&end, 1), use); }
  /// What there is now in `queue` is its producer's work on memory that is taken over: all uses come after it, and it
  /// is none of them. Throws `CudaError`.
  void begin_after(Queue const& queue, char const* site);
  // A lease's holder and those it is lent to may use the memory in their streams at any time until it closes.
  using Lease = std::uint64_t;
  /// Calls nothing of the driver.
  [[nodiscard]] Lease open_lease(Queue const& own, Use use);
  /// The memory is handed out for use in `queue`, null: in the lease's own. That comes after all that it must come
  /// after, and after what there is now in the lease's other streams. `known`: whether it is used there and nowhere
  /// else. False if the lease is over. Throws `CudaError`.
  [[nodiscard]] bool lend(Lease lease, Queue const* queue, bool known);
  /// The same for the lease that has it for writing, for use in its own stream and who knows which others. False if
  /// there is none.
  bool lend_for_writer();
  /// A lease's own queue; none if it is over.
  [[nodiscard]] std::optional<Queue> queue_of(Lease lease);
  /// Hands out memory that no lease lends any more for use in `queue`, which comes after all that it must come after.
  /// Whoever wants the memory next fences it.
  void lend_kept(Queue const& queue, Use use, bool known);
  /// What there is now in the lease's streams counts as its uses. `alive`: views of it are, so that their holders may
  /// go on using the memory.
  void close_lease(Lease lease, bool alive) noexcept;

  /// Counts what holders of such views may have submitted meanwhile as uses. `alive`: some still have theirs. False,
  /// with the last error set, if that cannot be: they are counted the next time.
  [[nodiscard]] bool fence_escaped(Use before, bool alive) noexcept;
  /// Whether neither work nor views that were kept are known of, but for what was there before.
  [[nodiscard]] bool is_unused() noexcept;
  /// Everything that the next writer would have to come after.
  [[nodiscard]] std::vector<StreamUse> all();

 private:
  struct Entry {
    StreamUse use;  // of a read without an event, only its queue counts
    bool is_behind_writes;
  };
  using Events = std::vector<EventHandle>;
  struct Locked;
  static constexpr std::size_t least_kept_reads = 16;

  struct Lent {
    Lease lease;
    Queue queue;
    Use use;
    bool is_used;   // by then somebody may have work there
    bool is_known;  // and nowhere else
  };

  [[nodiscard]] Events events_before(Queue const* queue, Use use);
  [[nodiscard]] std::vector<Queue> lent_for_writing(Queue const* but);
  void find_ends();
  void forget(Events const& over) noexcept;
  void forget_ended_reads() noexcept;
  void fence_one(Queue const& queue, Use use) noexcept;
  void hold_back_escaped(std::span<StreamUse const> ends) noexcept;
  void remember(std::span<StreamUse const> ends, Use use) noexcept;
  void escaped(Lent const& lent) noexcept;

  DeviceMemoryPtr _memory;
  ForkLock _lock;
  std::vector<StreamUse> _writes;    // one, or those of several streams that one owner wrote in
  bool _writes_were_before = false;  // they are the producer's
  std::vector<Entry> _reads;
  std::size_t _kept_reads = least_kept_reads;  // with more, those that have ended are forgotten
  std::vector<Lent> _lent;                     // of leases that are open
  std::vector<Queue> _escaped;                 // of views that outlived theirs
  bool _escaped_anywhere = false;
  bool _escaped_writable = false;
};

}  // namespace memarray::detail
