#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/base/options.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/base/intrusive_ptr.hpp>
#include <memarray/detail/memory/storage.hpp>
#include <memarray/detail/state/lock_word.hpp>
#include <memarray/detail/state/place.hpp>
#include <memarray/state/array_options.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace memarray {

namespace detail {

class ArrayState;
class Segment;
class DeviceMemory;
using DeviceMemoryPtr = std::shared_ptr<DeviceMemory>;
struct BoundStream;
enum class CopyMode : bool;

using ArrayStatePtr = IntrusivePtr<ArrayState>;

/// The state of an array (lock word, storage, shape, policy), shared by the C++ array, its leases and Python objects.
///
/// Functions that touch contents hold the lock for as long as they need it, and leave the array as it was when they
/// throw. `lock_id` is −1, or the id of an open write lease: the call then uses the lease's lock instead of acquiring
/// it. A `LockError` names the holder.
class MEMARRAY_API ArrayState {
 public:
  /// Makes an array in dense host memory. Throws `ValueError`, `OverflowError`, `CudaError`, `OutOfMemoryError`.
  [[nodiscard]] static ArrayStatePtr make(DType const& dtype, Extents shape, int device_id,
                                          ArrayOptions const& options);

  /// Makes an array in dense memory of a device, filled in `default_stream()`. Ignores `options.resource`. Throws
  /// `ValueError`, `OverflowError`, `CudaError` (no such device), `OutOfMemoryError`.
  [[nodiscard]] static ArrayStatePtr make_on_device(DType const& dtype, Extents shape, int device_id,
                                                    ArrayOptions const& options);

  /// Makes an array over host or device memory that holds `shape` elements.
  [[nodiscard]] static ArrayStatePtr make_over(DType const& dtype, Extents shape, BlockPtr block);
  /// Makes an array over shared memory. The processes that attach to it share one lock and one set of export counts.
  [[nodiscard]] static ArrayStatePtr make_shared(DType const& dtype, Extents shape, BlockPtr host, Segment& segment);

  ArrayState(ArrayState const&) = delete;
  ArrayState& operator=(ArrayState const&) = delete;

  void retain() noexcept { _word.retain(); }
  void release() noexcept {
    if (_word.release()) destroy();
  }

  [[nodiscard]] DType const& dtype() const noexcept { return _dtype; }
  [[nodiscard]] int ndim() const noexcept { return _ndim; }
  /// Returns the `ndim` extents. If another thread may call `resize` or `exchange`, hold a lease or call `copy_shape`.
  [[nodiscard]] std::int64_t const* shape() const noexcept { return _shape; }
  /// Copies a consistent set of extents to `extents`. Any thread may call it, without a lock.
  void copy_shape(std::int64_t* extents) const noexcept;
  [[nodiscard]] std::int64_t size() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(size()) * _dtype.itemsize; }
  [[nodiscard]] int device_id() const noexcept { return _device_id.load(std::memory_order_relaxed); }
  [[nodiscard]] bool on_device() const noexcept { return _storage.current() == Side::device; }
  [[nodiscard]] Device device() const noexcept;
  /// Returns the device in DLPack's terms: an extension device for a simulated device, a managed device for host
  /// memory of a unified resource. Any thread may call it, without a lock.
  [[nodiscard]] Device exported_device() const noexcept;
  [[nodiscard]] bool is_foreign() const noexcept { return _storage.block()->is_foreign(); }
  [[nodiscard]] MemoryType memory_type() const noexcept { return _storage.block()->memory_type(); }
  /// Returns the id that the array is held for writing under, else −1.
  [[nodiscard]] std::int64_t lock_id() const noexcept;

  [[nodiscard]] EscapedViews escaped_views() const noexcept { return _policy.load(std::memory_order_relaxed); }
  /// Throws `ValueError` for a policy that shared memory cannot have.
  void set_escaped_views(EscapedViews policy);

  /// Returns the attachment to shared memory; null for private memory.
  [[nodiscard]] Segment* segment() const noexcept { return _segment; }

  /// True if the array is held for writing under `lock_id`, the id of a lease or of `enter`.
  [[nodiscard]] bool is_held_under(std::int64_t lock_id) const noexcept {
    return lock_id >= 0 && lock_id < LockWord::operation && _word.load() == lock_id;
  }
  /// Throws `LockError` unless a write under `lock_id` would succeed now.
  void check_write(std::int64_t lock_id, char const* what) const;
  /// Throws `LockError` unless a read under `lock_id` would succeed now. First waits for a reader's short exclusive
  /// hold; that wait throws `Interrupted`.
  void check_read(std::int64_t lock_id, char const* what);

  /// Return the current block's memory for one access that checks the lock but does not hold it (element access,
  /// `ptr`). Outside any lease, apply the escaped-view policy first. Block the host until pending work is complete, and
  /// report that wait. Throw `LockError`, `CudaError`.
  [[nodiscard]] std::byte const* checked_read(std::int64_t lock_id, char const* what);
  [[nodiscard]] std::byte* checked_write(std::int64_t lock_id, char const* what);
  /// Copy one element, on the host or a device; `at` is its linear index.
  void read_element(std::int64_t at, void* element, std::int64_t lock_id);
  void write_element(std::int64_t at, void const* element, std::int64_t lock_id);

  /// Throws `Error`, which names the move to make, unless `side` is current.
  void check_side(Side side) const;

  /// Sets every element to the one at `element`.
  void fill(void const* element, std::int64_t lock_id = -1);
  void resize(Extents shape);
  /// Swaps contents, shape, device and resource with `other`, of the same dtype and rank; policies stay.
  void exchange(ArrayState& other);
  /// Returns a deep, unlocked copy; holds this array's read lock meanwhile.
  [[nodiscard]] ArrayStatePtr clone();
  /// Throws `ValueError` unless `device` is the CPU or a CUDA device, `CudaError` if this process has no such device.
  void check_reachable(Device device, char const* what) const;
  /// Makes the side on `target` current, by a copy in `stream` if it is stale. Throws `LockError` under any lease.
  void move(Device target, std::int64_t lock_id, StreamChoice const& stream = {}, bool async = false);

  /// Acquire and release a write lease under an id that the caller chose. `leave` releases only a lease of `enter`.
  void enter(std::int64_t lock_id);
  void leave() noexcept;

  // The rest of the public part is for `Hold` and for leases.
  enum class Access : std::uint8_t {
    read,       ///< reads elements
    write,      ///< may change any element; under the snapshot policy, starts from a copy if views have escaped
    overwrite,  ///< replaces all elements; needs no copy of the old contents
    update,     ///< computes each element from its own old value
  };
  /// Acquires the lock for `access` and applies the escaped-view policy. For `overwrite` and `update` the caller must
  /// call `must_leave_block` and write to a fresh block if it returns true. If `place` names a device, moves the array
  /// there under the lock. Then calls `prepare`; if that throws, moves the array back and releases the lock. With
  /// `past_writers`, the caller already holds a read, so waiting writers do not delay this one. Returns false if the
  /// lock was not acquired within `timeout`. Writers acquire the lock under `id`.
  [[nodiscard]] bool take(Access access, std::int64_t id, Timeout timeout, Place const& place = {},
                          bool past_writers = false, std::function<void()> const& prepare = {});
  void give_back(Access access) noexcept;
  /// Acquires the lock and a reference in one atomic operation, without waiting. Returns false if the lock is not
  /// available or a stream has used the memory. Writable exports also prevent a read, and any export a write. A write
  /// gets `id` and makes the other side stale. `left` receives the lock word for `give_back_with_reference`.
  [[nodiscard]] bool try_take_with_reference(Access access, std::int64_t id, LockWord::Guess& left) noexcept {
    if (access == Access::read) {
      if (!_word.try_lock_shared(false, LockWord::With::reference, &left)) return false;
      if (_storage.block()->exports().writable == 0 && !_storage.block()->uses()) return true;
    } else {
      if (!_word.try_lock_exclusive(id, LockWord::With::reference, &left)) return false;
      if (_storage.exports().total() == 0 && !_storage.block()->uses()) {
        _storage.wrote(_storage.current());
        return true;
      }
    }
    give_back_with_reference(access, left);
    return false;
  }
  void give_back_with_reference(Access access, LockWord::Guess left) noexcept {
    if (access == Access::read ? _word.unlock_shared_and_release(left) : _word.unlock_exclusive_and_release(left))
      destroy();
  }
  [[nodiscard]] static std::int64_t next_lock_id() noexcept;
  /// True if a writer must write to fresh memory: the block has exports, and the policy is snapshot.
  [[nodiscard]] bool must_leave_block() const noexcept;
  /// Returns the side that a holder uses in `place`.
  [[nodiscard]] Side side_in(Place const& place) const noexcept;
  /// Waits for the pending work on `block` that conflicts with `access`: in `stream` on a device, else by blocking.
  void await(Block& block, Access access, StreamChoice const& stream) const;
  /// Returns the stream, bound to the context of the device side, which must have a block.
  [[nodiscard]] BoundStream queue(StreamChoice const& stream) const;
  /// Allocates an uninitialized block for the current side. Does not make it part of the array.
  [[nodiscard]] BlockPtr fresh_block(StreamChoice const& stream) const;
  /// Like `fresh_block`, with a copy of the current contents. Reports the copy.
  [[nodiscard]] BlockPtr copied_block(char const* why, StreamChoice const& stream) const;
  [[nodiscard]] Storage& storage() noexcept { return _storage; }
  [[nodiscard]] Storage const& storage() const noexcept { return _storage; }
  [[nodiscard]] LockWord& word() noexcept { return _word; }
  /// Returns the live exports of the contents, on all valid sides and in all processes.
  [[nodiscard]] Block::Exports exports() const noexcept {
    if (_segment) [[unlikely]]
      return shared_exports();
    return _storage.exports();
  }
  /// Returns "MemArray<float64, 3> of shape (2, 4, 7)".
  [[nodiscard]] std::string describe() const;
  /// Throws a `LockError` that names what prevents `what`.
  [[noreturn]] void refuse(char const* what, std::int64_t lock_id) const;

 private:
  ArrayState(Side side, BlockPtr block, DType const& dtype, Extents shape, int device_id, EscapedViews policy) noexcept;
  ~ArrayState();
  void destroy() noexcept;
  void set_shape(Extents shape) noexcept;
  [[nodiscard]] BlockPtr allocate_on(DeviceMemoryPtr const& memory, BoundStream const& queue, std::size_t bytes) const;
  /// True if a read must hold the lock exclusively for a moment, to replace the block or to move the array.
  [[nodiscard]] bool must_settle(Place const& place, bool insist) const noexcept;
  /// Applies the escaped-view policy for a read, under the exclusive lock.
  void settle_for_read(StreamChoice const& stream);
  /// Returns the stream if it is of the current side's device, else the default one: a move may name a stream of either
  /// device.
  [[nodiscard]] StreamChoice stream_here(StreamChoice const& stream) const;
  /// Leaves the current block to its escaped views: the array continues in a `copied_block`.
  void detach(char const* why, StreamChoice const& stream);
  void arrive_for_lease(Place const& place, Access access);
  /// Makes the side on `target` current. Copies the contents if that side is stale and `access` reads them.
  void arrive(Device target, StreamChoice const& stream, Access access, CopyMode ending);
  [[nodiscard]] static ArrayStatePtr make_around(Side side, BlockPtr block, DType const& dtype, Extents shape,
                                                 int device_id, EscapedViews policy);
  /// Detaches from escaped views before `exchange` gives the block to an array that writes under its views.
  void leave_views_before(ArrayState const& receiver);
  void check_policy(Block::Exports exports, char const* what) const;
  /// Does the work of `take` for an array in shared memory.
  [[nodiscard]] bool take_among_processes(Access access, std::int64_t id, Timeout timeout, Place const& place,
                                          bool past_writers, std::function<void()> const& prepare);
  void give_back_among_processes(Access access) noexcept;
  [[nodiscard]] Block::Exports shared_exports() const noexcept;
  void check_not_shared(char const* what) const;

  LockWord _word;
  Storage _storage;
  std::atomic<EscapedViews> _policy;
  DType _dtype;
  std::atomic<int> _device_id;
  std::atomic<DLDeviceType> _exported_type{kDLCUDA};  // of the device side
  int _ndim;
  std::int64_t* _shape;  // directly after the object, in the same allocation
  mutable std::atomic<std::uint32_t> _shape_version{0};
  std::atomic<std::int64_t> _entered{-1};
  std::optional<MemoryResource> _resource;
  Segment* _segment = nullptr;  // kept alive by the block
};

[[noreturn]] MEMARRAY_API void throw_moved_from();
[[noreturn]] MEMARRAY_API void throw_out_of_bounds(ArrayState const& state, int dimension, std::int64_t index);

}  // namespace detail
}  // namespace memarray
