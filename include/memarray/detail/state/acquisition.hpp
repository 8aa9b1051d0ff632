#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/device.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/state/access_mode.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/driver/stream_choice.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace memarray::detail {

/// An array that is acquired for a lease or for one operation: the lock, and the memory that the holder uses.
///
/// A write applies the policy for escaped views. If they keep the array's block, the holder writes to fresh memory,
/// which becomes the array's at the end: for a lease when all arrays of the call are acquired, for an operation in
/// `commit`. Without `commit`, fresh memory is dropped and the array is as it was.
///
/// On a device an operation is work in a stream, ordered after the memory's pending work; `commit` records that it was
/// submitted. A lease opens an entry in the block's `StreamDependencies`, which records what its holder submits.
class MEMARRAY_API Acquisition {
 public:
  /// The steps that acquiring for an operation leaves out.
  enum class Option : std::uint8_t {
    none,
    lock_only,      ///< the policy for escaped views is applied at once; the caller orders its work itself
    past_writers,   ///< the caller already holds a read of this array
    orders_itself,  ///< on a device, the functions that the caller calls order their work themselves
  };
  /// State of the work that `commit` publishes.
  enum class Work : std::uint8_t {
    submitted,  ///< complete when the stream has reached its present end
    recorded,   ///< submitted, and already recorded as pending work of the memory
    complete,
  };

  /// Requests a lease of `state`, for use of its memory on `device` (by default where it is) in `stream`. Acquires
  /// nothing yet.
  Acquisition(ArrayState& state, AccessMode mode, std::optional<Device> const& device, StreamChoice stream) noexcept;
  /// Acquires `state` at once for one operation, which `what` names in errors: "fill". `lock_id`: −1, or the id of an
  /// open write lease, which the operation then uses. `stream`: where it runs if the array is on a device. Throws
  /// `LockError`, `CudaError`, `OutOfMemoryError`.
  Acquisition(ArrayState& state, AccessMode mode, std::int64_t lock_id, char const* what, Option option = Option::none,
              StreamChoice stream = {});
  Acquisition(Acquisition&& other) noexcept;
  Acquisition& operator=(Acquisition&&) = delete;
  /// Releases the lock. The next user of the memory waits for the work in the lease's streams so far.
  ~Acquisition() { release(); }

  /// Acquires the requested lease, as `acquire_all` does.
  void acquire(Timeout timeout);
  /// Releases the lock before destruction. The memory stays valid. Does nothing if nothing is held.
  void release() noexcept;

  [[nodiscard]] ArrayState& state() const noexcept { return *_state; }
  [[nodiscard]] AccessMode mode() const noexcept { return _mode; }
  /// Returns the id of a write; −1 for a read.
  [[nodiscard]] std::int64_t id() const noexcept { return _id; }

  // For a lease.
  /// Returns the leased memory; null before `acquire`.
  [[nodiscard]] BlockPtr const& block() const noexcept { return _block; }
  /// Returns the lease's entry in the `StreamDependencies` of its block; 0 on the host.
  [[nodiscard]] StreamDependencies::Lease stream_lease() const noexcept { return _stream_lease; }
  /// Returns the device that was asked for, and the lease's stream.
  [[nodiscard]] std::optional<Device> const& device() const noexcept { return _device; }
  [[nodiscard]] StreamChoice const& stream() const noexcept { return _stream; }
  /// Makes the lease's stream wait for pending work, and returns the memory. Throws `CudaError`.
  [[nodiscard]] std::byte* use() const;

  // For an operation.
  /// Returns the address of the old contents, as a kernel sees it that runs where the array is.
  [[nodiscard]] std::byte const* source() const noexcept;
  /// Returns the address for the new contents: `source()`, unless the write goes to fresh memory.
  [[nodiscard]] std::byte* target() const noexcept;
  [[nodiscard]] Block& target_block() const noexcept { return _fresh ? *_fresh : _state->residency().block(); }
  [[nodiscard]] bool is_in_place() const noexcept { return !_fresh; }
  /// Returns where the operation runs; only for an array on a device.
  [[nodiscard]] BoundStream const& queue() const noexcept { return *_queue; }
  [[nodiscard]] DeviceMemory& memory() const noexcept { return _state->residency().block().uses()->memory(); }
  /// Returns the end of the work submitted so far, to `commit` several acquisitions with.
  [[nodiscard]] PendingWork end() const noexcept { return end_of(*_queue, memory()); }
  /// Makes the result of submitted or complete work the array's contents.
  void commit(Work work = Work::submitted) noexcept;
  void commit(PendingWork const& end) noexcept;
  /// Records that a failed operation may have written part of the memory and may still use it: the other side is stale,
  /// and the next user waits.
  void left_running() noexcept;

  /// Acquires a lease's lock and a reference to the state in one atomic operation, without waiting. Returns false if
  /// the lock is not available or a stream has used the memory. Writable exports also prevent a read, and any export a
  /// write. A write gets `id` and makes the other side stale. `left` receives the lock word, for
  /// `ArrayState::unlock_and_release`.
  [[nodiscard]] static bool try_with_reference(ArrayState& state, AccessMode mode, std::int64_t id,
                                               LockWord::Guess& left) noexcept {
    LockWord& word = state.lock().word();
    Residency& residency = state.residency();
    if (mode == AccessMode::read) {
      if (!word.try_lock_shared(false, LockWord::With::reference, &left)) return false;
      if (residency.block().exports().writable == 0 && !residency.block().uses()) return true;
    } else {
      if (!word.try_lock_exclusive(id, LockWord::With::reference, &left)) return false;
      if (residency.exports().total() == 0 && !residency.block().uses()) {
        residency.wrote();
        return true;
      }
    }
    state.unlock_and_release(mode, left);
    return false;
  }
  /// Returns the acquired lease on the heap; null in the common case (private host memory of the current side), where
  /// the caller then owns the hold of the lock word. Throws `std::bad_alloc`; `lease` then still holds the array.
  [[nodiscard]] static std::unique_ptr<Acquisition> keep(Acquisition&& lease);
  /// Acquires a write hold under `lock_id` that no object owns, until `ArrayLock::end_entered`. Throws `LockError`.
  static void enter(ArrayState& state, std::int64_t lock_id);

 private:
  friend MEMARRAY_API void acquire_all(std::span<Acquisition*> requests, Timeout timeout);

  template <class Prepare>
  [[nodiscard]] bool lock(Timeout timeout, bool past_writers, Prepare const& prepare);
  [[nodiscard]] bool must_settle(bool insist) const noexcept;
  void move_for_lease();
  void acquire_unpublished(Timeout timeout, bool past_writers);
  void undo() noexcept;
  void prepare_lease();
  void prepare_operation(Option option);
  void record(PendingWork const& end) noexcept;
  void publish_lease() noexcept;
  void publish() noexcept;

  ArrayState* _state;
  AccessMode _mode;
  bool _is_held = false;
  bool _is_in_group = false;  // one of several, acquired all or none
  std::int64_t _id = -1;
  StreamDependencies::Lease _stream_lease = 0;
  BlockPtr _block;  // that a lease uses
  BlockPtr _fresh;  // becomes the array's contents
  std::optional<Device> _device;
  StreamChoice _stream;
  std::optional<BoundStream> _queue;
  std::optional<Residency::Snapshot> _before;  // of a group's move, until all are acquired
};

/// Applies the policy for escaped views before a read: leaves a block that has writable exports. The caller holds the
/// lock exclusively. Throws `LockError`, `CudaError`, `OutOfMemoryError`.
void apply_policy_to_read(ArrayState& state, StreamChoice const& stream);
/// Returns "a read lease" or "a write lease", for messages.
[[nodiscard]] MEMARRAY_API char const* lease_name(AccessMode mode) noexcept;
/// Acquires all requested leases, in one order for all callers, which prevents deadlock; sorts `requests`. If one
/// fails, acquires none, changes no contents, and throws: `LockError` if a lock is not free within `timeout` (counted
/// over all), or if an array is requested twice, once for writing; `OutOfMemoryError`, `CudaError`, `Interrupted`.
/// Several reads of one array count as one when a writer waits.
MEMARRAY_API void acquire_all(std::span<Acquisition*> requests, Timeout timeout);

}  // namespace memarray::detail
