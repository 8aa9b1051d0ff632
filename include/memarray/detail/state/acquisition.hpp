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
#include <vector>

namespace memarray::detail {

/// An array held for a lease or one operation: its lock and memory.
///
/// Under the snapshot policy, a write under escaped views goes to fresh memory. A lease's copy is published at once,
/// other fresh memory when all leases of the call are acquired, or in an operation's `commit`.
///
/// On a device, operations and holders of leases submit work to a stream, ordered by the block's `StreamDependencies`.
class MEMARRAY_API Acquisition {
 public:
  enum class Option : std::uint8_t {
    none,
    lock_only,         ///< nothing to commit: a write detaches at once; the caller orders its work
    ahead_of_writers,  ///< the caller already holds a read
    orders_itself,     ///< the called functions order device work
  };
  enum class Work : std::uint8_t {
    submitted,  ///< in the stream; `commit` records its end
    recorded,   ///< in the stream, and already recorded
    complete,
  };

  /// Requests a lease on `device`, by default the array's; acquires nothing yet.
  Acquisition(ArrayState& state, AccessMode mode, std::optional<Device> const& device, StreamChoice stream) noexcept;
  /// Acquires `state` for operation `what`, or uses the write lease `lock_id` (−1: none). Throws `LockError`,
  /// `CudaError`, `OutOfMemoryError`.
  Acquisition(ArrayState& state, AccessMode mode, std::int64_t lock_id, char const* what, Option option = Option::none,
              StreamChoice stream = {});
  Acquisition(Acquisition&& other) noexcept;
  Acquisition& operator=(Acquisition&&) = delete;
  ~Acquisition() { release(); }

  /// Makes `acquire` throw `ValueError` if the locked array has another shape.
  void expect(std::span<std::int64_t const> shape) { _expected.assign(shape.begin(), shape.end()); }
  /// Throws like `acquire_all`.
  void acquire(Timeout timeout);
  /// Keeps the memory. The next user waits for the work in the lease's streams so far.
  void release() noexcept;

  [[nodiscard]] ArrayState& state() const noexcept { return *_state; }
  [[nodiscard]] AccessMode mode() const noexcept { return _mode; }
  /// Returns the id of its own write hold, else −1.
  [[nodiscard]] std::int64_t id() const noexcept { return _id; }

  // For a lease.
  /// Returns null before `acquire`.
  [[nodiscard]] BlockPtr const& block() const noexcept { return _block; }
  /// Returns 0 on the host.
  [[nodiscard]] StreamDependencies::Lease stream_lease() const noexcept {
    return _stream_lease != 0 && _block->is_on_device() ? _stream_lease : 0;
  }
  /// Like `stream_lease`, also of unified memory on the host, which exports may be used in streams.
  [[nodiscard]] StreamDependencies::Lease exports_lease() const noexcept { return _stream_lease; }
  [[nodiscard]] std::optional<Device> const& device() const noexcept { return _device; }
  [[nodiscard]] StreamChoice const& stream() const noexcept { return _stream; }
  /// Makes the lease's stream wait for pending work, and returns the memory. Throws `CudaError`.
  [[nodiscard]] std::byte* use() const;

  // For an operation.
  /// Returns the old contents, as kernels address them.
  [[nodiscard]] std::byte const* source() const noexcept;
  /// Returns the new contents: `source()`, or fresh memory.
  [[nodiscard]] std::byte* target() const noexcept;
  [[nodiscard]] Block& target_block() const noexcept { return _fresh ? *_fresh : _state->residency().block(); }
  [[nodiscard]] bool is_in_place() const noexcept { return !_fresh; }
  // `bound_stream`, `memory` and `end` require an array on a device.
  [[nodiscard]] BoundStream const& bound_stream() const noexcept { return *_bound_stream; }
  [[nodiscard]] DeviceMemory& memory() const noexcept { return _state->residency().block().uses()->memory(); }
  /// Returns the end of the submitted work, for several commits.
  [[nodiscard]] PendingWork end() const noexcept { return end_of(*_bound_stream, memory()); }
  void commit(Work work = Work::submitted) noexcept;
  void commit(PendingWork const& end) noexcept;
  /// Records failed work, which may have written the memory and may still run.
  void left_running() noexcept;

  /// A lease's fast path: acquires the lock and a reference in one atomic operation. A write makes the other side
  /// stale. Returns false if the lock is held, a stream has used the memory, or exports exist (for a read: writable
  /// ones). `expected` is for `ArrayState::unlock_and_release`.
  [[nodiscard]] static bool try_with_reference(ArrayState& state, AccessMode mode, std::int64_t id,
                                               LockWord::Expected& expected) noexcept {
    LockWord& word = state.lock().word();
    Residency& residency = state.residency();
    if (mode == AccessMode::read) {
      if (!word.try_lock_shared(false, LockWord::RefMode::counted, &expected)) return false;
      if (residency.block().exports().writable == 0 && !residency.block().uses()) return true;
    } else {
      if (!word.try_lock_exclusive(id, LockWord::RefMode::counted, &expected)) return false;
      if (residency.exports().total() == 0 && !residency.block().uses()) {
        residency.wrote();
        return true;
      }
    }
    state.unlock_and_release(mode, expected);
    return false;
  }
  /// Moves a lease to the heap. Returns null if only its lock word needs a release, which is then the caller's. Throws
  /// `std::bad_alloc`; `lease` is unchanged.
  [[nodiscard]] static std::unique_ptr<Acquisition> keep(Acquisition&& lease);
  /// Acquires a write hold that no object owns, until `ArrayLock::end_entered`. Throws `LockError`.
  static void enter(ArrayState& state, std::int64_t lock_id);

 private:
  friend MEMARRAY_API void acquire_all(std::span<Acquisition*> requests, Timeout timeout);

  template <class Prepare>
  [[nodiscard]] bool lock(Timeout timeout, bool ahead_of_writers, Prepare const& prepare);
  [[nodiscard]] bool must_relocate(bool insist) const noexcept;
  void move_for_lease();
  void acquire_unpublished(Timeout timeout, bool ahead_of_writers);
  void undo() noexcept;
  void prepare_lease();
  void prepare_operation(Option option);
  void record(PendingWork const& end) noexcept;
  void publish_lease() noexcept;
  void publish() noexcept;

  ArrayState* _state;
  AccessMode _mode;
  bool _is_held = false;
  bool _is_in_group = false;      // acquired all or none
  std::uint32_t _generation = 0;  // `fork_generation` of its lock
  std::int64_t _id = -1;
  StreamDependencies::Lease _stream_lease = 0;
  std::vector<std::int64_t> _expected;  // shape; empty: any
  BlockPtr _block;                      // of a lease
  BlockPtr _fresh;                      // to be published
  std::optional<Device> _device;
  StreamChoice _stream;
  std::optional<BoundStream> _bound_stream;
  std::optional<Residency::Snapshot> _before;  // before a group's move, until all are acquired
};

/// Applies the policy for writable escaped views. Requires the exclusive lock. Throws `LockError`, `CudaError`,
/// `OutOfMemoryError`.
void apply_policy_to_read(ArrayState& state, StreamChoice const& stream);
[[nodiscard]] MEMARRAY_API char const* lease_name(AccessMode mode) noexcept;
/// Acquires all leases or none; sorts `requests` into one order for all callers, to prevent deadlock. Repeated reads of
/// one array pass waiting writers. Throws `LockError` after the total `timeout`, or if an array is requested twice,
/// once for writing; `OutOfMemoryError`, `CudaError`, `Interrupted`.
MEMARRAY_API void acquire_all(std::span<Acquisition*> requests, Timeout timeout);

}  // namespace memarray::detail
