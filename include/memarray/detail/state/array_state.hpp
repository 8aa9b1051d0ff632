#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/base/options.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/base/intrusive_ptr.hpp>
#include <memarray/detail/state/array_lock.hpp>
#include <memarray/detail/state/residency.hpp>
#include <memarray/state/array_options.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace memarray::detail {

class ArrayState;
using ArrayStatePtr = IntrusivePtr<ArrayState>;

/// The state of an array, shared by the C++ array, its leases and Python objects: references, dtype, shape and policy
/// for escaped views, with a lock and a residency.
///
/// Operations on arrays are in `array_operations.hpp` and `element_access.hpp`; an `Acquisition` takes the lock for
/// them.
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
  /// Makes an unlocked array over `block` with dtype, shape, policy, device and resource of this one.
  [[nodiscard]] ArrayStatePtr make_twin(BlockPtr block) const;

  ArrayState(ArrayState const&) = delete;
  ArrayState& operator=(ArrayState const&) = delete;

  void retain() noexcept { _lock.retain(); }
  void release() noexcept {
    if (_lock.release()) destroy();
  }
  /// Releases a hold of the lock word and a reference in one atomic operation.
  void unlock_and_release(AccessMode mode, LockWord::Guess left) noexcept {
    LockWord& word = _lock.word();
    if (mode == AccessMode::read ? word.unlock_shared_and_release(left) : word.unlock_exclusive_and_release(left))
      destroy();
  }

  [[nodiscard]] ArrayLock& lock() noexcept { return _lock; }
  [[nodiscard]] ArrayLock const& lock() const noexcept { return _lock; }
  [[nodiscard]] Residency& residency() noexcept { return _residency; }
  [[nodiscard]] Residency const& residency() const noexcept { return _residency; }

  [[nodiscard]] DType const& dtype() const noexcept { return _dtype; }
  [[nodiscard]] int ndim() const noexcept { return _ndim; }
  /// Returns the extents. If another thread may call `resize` or `exchange`, hold a lease or call `copy_shape`.
  [[nodiscard]] std::int64_t const* shape() const noexcept { return _shape; }
  [[nodiscard]] Extents extents() const noexcept { return {_shape, static_cast<std::size_t>(_ndim)}; }
  /// Copies a consistent set of extents to `extents`. Any thread may call it, without a lock.
  void copy_shape(std::int64_t* extents) const noexcept;
  /// Changes the extents. The caller holds the lock exclusively.
  void set_shape(Extents shape) noexcept;
  [[nodiscard]] std::int64_t size() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(size()) * _dtype.itemsize; }

  [[nodiscard]] EscapedViews escaped_views() const noexcept { return _policy.load(std::memory_order_relaxed); }
  /// Throws `ValueError` for a policy that shared memory cannot have.
  void set_escaped_views(EscapedViews policy);
  /// True if a writer must write to fresh memory: the block has exports, and the policy is snapshot.
  [[nodiscard]] bool must_leave_block() const noexcept {
    return escaped_views() == EscapedViews::snapshot && _residency.block().exports().total() != 0;
  }

  /// Returns "MemArray<float64, 3> of shape (2, 4, 7)".
  [[nodiscard]] std::string describe() const;
  /// Throws a `LockError` that names what prevents `what`.
  [[noreturn]] void refuse(char const* what, std::int64_t lock_id) const;
  /// Throws `LockError` if the policy is "error" and there are exports.
  void check_policy(Block::Exports exports, char const* what) const;
  /// Throws `Error` for an array in shared memory, whose memory and shape stay.
  void check_not_shared(char const* what) const;

 private:
  [[nodiscard]] static ArrayStatePtr make_around(DType const& dtype, Extents shape, BlockPtr block, int device_id,
                                                 EscapedViews policy, std::optional<MemoryResource> resource);
  ArrayState(DType const& dtype, Extents shape, BlockPtr block, int device_id, EscapedViews policy,
             std::optional<MemoryResource> resource) noexcept;
  ~ArrayState();
  void destroy() noexcept;

  ArrayLock _lock;
  Residency _residency;
  std::atomic<EscapedViews> _policy;
  DType _dtype;
  int _ndim;
  std::int64_t* _shape;  // directly after the object, in the same allocation
  mutable std::atomic<std::uint32_t> _shape_version{0};
};

}  // namespace memarray::detail
