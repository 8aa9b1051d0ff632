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

class State;
class Segment;
class DeviceMemory;
using DeviceMemoryPtr = std::shared_ptr<DeviceMemory>;
struct Queue;
enum class Ending : bool;

using StatePtr = IntrusivePtr<State>;

/// What an array is: lock word, storage, shape and policy, shared by the C++ array, its leases and Python objects.
///
/// Every function that touches contents takes what it needs of the lock, for as long as it needs it, and leaves the
/// array as it was when it throws. `lock_id` is −1, or the id of the open write lease on whose behalf it is called;
/// `LockError` says who holds the array otherwise.
class MEMARRAY_API State {
 public:
  /// Dense host memory of `shape`. Throws `ValueError`, `OverflowError`, `CudaError` (a device that is not there),
  /// `OutOfMemoryError`.
  [[nodiscard]] static StatePtr make(DType const& dtype, Extents shape, int device_id, ArrayOptions const& options);

  /// Dense memory of device `device_id`, filled in its default stream. Throws as `make` does. Ignores
  /// `options.resource`.
  [[nodiscard]] static StatePtr make_on_device(DType const& dtype, Extents shape, int device_id,
                                               ArrayOptions const& options);

  /// Around memory of the host or of a device that holds `shape` elements.
  [[nodiscard]] static StatePtr make_over(DType const& dtype, Extents shape, BlockPtr block);
  /// The same for memory that other processes have too: lock and export counts are theirs as well.
  [[nodiscard]] static StatePtr make_shared(DType const& dtype, Extents shape, BlockPtr host, Segment& segment);

  State(State const&) = delete;
  State& operator=(State const&) = delete;

  void retain() noexcept { _word.retain(); }
  void release() noexcept {
    if (_word.release()) destroy();
  }

  [[nodiscard]] DType const& dtype() const noexcept { return _dtype; }
  [[nodiscard]] int ndim() const noexcept { return _ndim; }
  /// `ndim` extents. They change in `resize` and `exchange`: whoever reads them while others may do that holds a
  /// lease, or calls `copy_shape`.
  [[nodiscard]] std::int64_t const* shape() const noexcept { return _shape; }
  /// The extents of one moment, from any thread.
  void copy_shape(std::int64_t* extents) const noexcept;
  [[nodiscard]] std::int64_t size() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(size()) * _dtype.itemsize; }
  [[nodiscard]] int device_id() const noexcept { return _device_id.load(std::memory_order_relaxed); }
  [[nodiscard]] bool on_device() const noexcept { return _storage.current() == Side::device; }
  [[nodiscard]] Device device() const noexcept;
  /// The same as DLPack is told: simulated devices are extension devices. Any thread, under no lock.
  [[nodiscard]] Device lent_device() const noexcept;
  [[nodiscard]] bool is_foreign() const noexcept { return _storage.block()->is_foreign(); }
  [[nodiscard]] MemoryType memory_type() const noexcept { return _storage.block()->memory_type(); }
  /// The id that the array is held for writing under, else −1.
  [[nodiscard]] std::int64_t lock_id() const noexcept;

  [[nodiscard]] EscapedViews escaped_views() const noexcept { return _policy.load(std::memory_order_relaxed); }
  /// Throws `ValueError` for a policy that shared memory cannot have.
  void set_escaped_views(EscapedViews policy);

  /// The attachment to shared memory; null for the memory of one process.
  [[nodiscard]] Segment* segment() const noexcept { return _segment; }

  /// Whether the array is held for writing under `lock_id`, the id of a lease or of `enter`.
  [[nodiscard]] bool is_held_under(std::int64_t lock_id) const noexcept {
    return lock_id >= 0 && lock_id < LockWord::operation && _word.load() == lock_id;
  }
  /// Throws `LockError` unless a write by `lock_id` would pass now.
  void check_write(std::int64_t lock_id, char const* what) const;
  /// Throws `LockError` unless a read by `lock_id` would pass now.
  void check_read(std::int64_t lock_id, char const* what);

  /// The current block's memory for one access that only checks the lock (element access, `ptr`). Outside any lease
  /// the escaped-view policy is decided first. Work on streams that uses the memory is waited for, and reported. Throws
  /// `LockError`, `CudaError`.
  [[nodiscard]] std::byte const* checked_read(std::int64_t lock_id, char const* what);
  [[nodiscard]] std::byte* checked_write(std::int64_t lock_id, char const* what);
  /// One element, wherever it is, `at` elements from the first.
  void read_element(std::int64_t at, void* element, std::int64_t lock_id);
  void write_element(std::int64_t at, void const* element, std::int64_t lock_id);

  /// Throws `Error`, with the move that makes it valid, when `side` is stale.
  void check_side(Side side) const;

  /// Sets every element to the one at `element`.
  void fill(void const* element, std::int64_t lock_id = -1);
  void resize(Extents shape);
  /// Swaps contents, shape and policy-free state with `other`, of the same dtype and rank.
  void exchange(State& other);
  /// A deep copy, born unlocked; holds this array's read lock meanwhile.
  [[nodiscard]] StatePtr clone();
  /// Throws `ValueError` for what is no device of ours, `CudaError` for one that is not there.
  void check_reachable(Device device, char const* what) const;
  /// Makes the side on `target` current; a copy, in `stream`, if it is stale. Refused under any lease.
  void move(Device target, std::int64_t lock_id, StreamChoice const& stream = {}, bool async = false);

  /// A write lease under the caller's own id; `leave` ends only that.
  void enter(std::int64_t lock_id);
  void leave() noexcept;

  // What holds and leases are made of.
  enum class Access : std::uint8_t {
    read,       ///< looks
    write,      ///< may change anything: under kept views it starts from a copy
    overwrite,  ///< gives up the old contents
    update,     ///< rewrites each element from its own old value
  };
  /// Takes the word for `access` and settles what escaped views ask for, except that `overwrite` and `update` leave
  /// a block that must not be written in place. With a device in `place` the array is moved there under the word.
  /// Then `prepare` is called; if it throws, the array goes back and so does the word. Returns false when the time was
  /// up.
  [[nodiscard]] bool take(Access access, std::int64_t id, Timeout timeout, Place const& place = {},
                          bool past_writers = false, std::function<void()> const& prepare = {});
  void give_back(Access access) noexcept;
  /// Takes the word together with a reference, if nobody holds it and there is nothing to settle or to wait for: one
  /// atomic operation.
  /// A write gets `id` and makes the other side stale.
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
  /// Whether a holder of the word for writing must write to fresh memory.
  [[nodiscard]] bool must_leave_block() const noexcept;
  /// Which side a holder of the word has in `place`.
  [[nodiscard]] Side side_in(Place const& place) const noexcept;
  /// Makes use of `block` come after what it must come after: in `stream` on a device, now on the host.
  void await(Block& block, Access access, StreamChoice const& stream) const;
  /// The stream, for work on the device of the current side.
  [[nodiscard]] Queue queue(StreamChoice const& stream) const;
  /// Memory like the current block's, not yet the array's.
  [[nodiscard]] BlockPtr fresh_block(StreamChoice const& stream) const;
  /// The same with the current contents: a copy, which is reported.
  [[nodiscard]] BlockPtr copied_block(char const* why, StreamChoice const& stream) const;
  [[nodiscard]] Storage& storage() noexcept { return _storage; }
  [[nodiscard]] Storage const& storage() const noexcept { return _storage; }
  [[nodiscard]] LockWord& word() noexcept { return _word; }
  /// Live exports of the contents, on both sides and in all processes that have them.
  [[nodiscard]] Block::Exports exports() const noexcept {
    if (_segment) [[unlikely]]
      return shared_exports();
    return _storage.exports();
  }
  /// "MemArray<float64, 3> of shape (2, 4, 7)"
  [[nodiscard]] std::string describe() const;
  /// Throws the `LockError` that says who stands in the way of `what`.
  [[noreturn]] void refuse(char const* what, std::int64_t lock_id) const;

 private:
  State(Side side, BlockPtr block, DType const& dtype, Extents shape, int device_id, EscapedViews policy) noexcept;
  ~State();
  void destroy() noexcept;
  void set_shape(Extents shape) noexcept;
  [[nodiscard]] BlockPtr allocate_on(DeviceMemoryPtr const& memory, Queue const& queue, std::size_t bytes) const;
  [[nodiscard]] bool must_settle(Place const& place, bool insist) const noexcept;
  void settle_for_read(StreamChoice const& stream);
  /// The stream if it is of the current side's device, else the default one: whoever moves an array may name a stream
  /// of either device.
  [[nodiscard]] StreamChoice stream_here(StreamChoice const& stream) const;
  void detach(char const* why, StreamChoice const& stream);
  void arrive_for_lease(Place const& place, Access access);
  void arrive(Device target, StreamChoice const& stream, Access access, Ending ending);
  [[nodiscard]] static StatePtr make_around(Side side, BlockPtr block, DType const& dtype, Extents shape, int device_id,
                                            EscapedViews policy);
  void leave_views_before(State const& receiver);
  void check_policy(Block::Exports exports, char const* what) const;
  /// `take`, of an array that other processes have too.
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
  std::atomic<DLDeviceType> _lent_type{kDLCUDA};  // of the device's side
  int _ndim;
  std::int64_t* _shape;  // in the same allocation, behind the object
  mutable std::atomic<std::uint32_t> _shape_version{0};
  std::atomic<std::int64_t> _entered{-1};
  std::optional<MemoryResource> _resource;
  Segment* _segment = nullptr;  // kept by the block
};

[[noreturn]] MEMARRAY_API void throw_moved_from();
[[noreturn]] MEMARRAY_API void throw_out_of_bounds(State const& state, int dimension, std::int64_t index);

}  // namespace detail
}  // namespace memarray
