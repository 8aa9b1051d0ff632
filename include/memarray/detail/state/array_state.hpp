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

/// The state that a C++ array, its leases and Python objects share. Operations are in `array_operations.hpp` and
/// `element_access.hpp`.
class MEMARRAY_API ArrayState {
 public:
  /// Makes an array in host memory. Throws `ValueError`, `OverflowError`, `CudaError`, `OutOfMemoryError`.
  [[nodiscard]] static ArrayStatePtr make(DType const& dtype, Extents shape, int device_id,
                                          ArrayOptions const& options);
  /// Like `make`, in device memory, filled in `default_stream()`. Ignores `options.resource`.
  [[nodiscard]] static ArrayStatePtr make_on_device(DType const& dtype, Extents shape, int device_id,
                                                    ArrayOptions const& options);
  /// Requires a `block` with elements of that shape.
  [[nodiscard]] static ArrayStatePtr make_from_block(DType const& dtype, Extents shape, BlockPtr block);
  /// Like `make_from_block`, with the lock of `segment`. Policy "snapshot" becomes "error".
  [[nodiscard]] static ArrayStatePtr make_shared(DType const& dtype, Extents shape, BlockPtr host, Segment& segment);
  /// Like this array, but over `block` and unlocked.
  [[nodiscard]] ArrayStatePtr make_like(BlockPtr block) const;

  ArrayState(ArrayState const&) = delete;
  ArrayState& operator=(ArrayState const&) = delete;

  void retain() noexcept { _lock.retain(); }
  void release() noexcept {
    if (_lock.release()) destroy();
  }
  /// Undoes `Acquisition::try_with_reference`, which set `expected`, in one atomic operation.
  void unlock_and_release(AccessMode mode, LockWord::Expected expected) noexcept {
    LockWord& word = _lock.word();
    if (mode == AccessMode::read ? word.unlock_shared_and_release(expected)
                                 : word.unlock_exclusive_and_release(expected))
      destroy();
  }

  [[nodiscard]] ArrayLock& lock() noexcept { return _lock; }
  [[nodiscard]] ArrayLock const& lock() const noexcept { return _lock; }
  [[nodiscard]] Residency& residency() noexcept { return _residency; }
  [[nodiscard]] Residency const& residency() const noexcept { return _residency; }

  [[nodiscard]] DType const& dtype() const noexcept { return _dtype; }
  [[nodiscard]] int ndim() const noexcept { return _ndim; }
  /// Requires a lease if another thread may resize the array. So do `extents`, `size` and `bytes`.
  [[nodiscard]] std::int64_t const* shape() const noexcept { return _shape; }
  [[nodiscard]] Extents extents() const noexcept { return {_shape, static_cast<std::size_t>(_ndim)}; }
  /// Copies consistent extents; needs no lock.
  void copy_shape(std::int64_t* extents) const noexcept;
  /// Requires the exclusive lock.
  void set_shape(Extents shape) noexcept;
  [[nodiscard]] std::int64_t size() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(size()) * _dtype.itemsize; }

  [[nodiscard]] EscapedViews escaped_views() const noexcept { return _policy.load(std::memory_order_relaxed); }
  /// Throws `ValueError` for the snapshot policy in shared memory.
  void set_escaped_views(EscapedViews policy);
  [[nodiscard]] bool write_needs_new_block() const noexcept {
    return escaped_views() == EscapedViews::snapshot && _residency.block().exports().total() != 0;
  }

  /// Returns "MemArray<float64, 3> of shape (2, 4, 7)".
  [[nodiscard]] std::string describe() const;
  /// Throws `LockError` with the obstacle to `what`.
  [[noreturn]] void refuse(char const* what, std::int64_t lock_id) const;
  /// Throws `LockError` for exports under the policy "error".
  void check_policy(Block::Exports exports, char const* what) const;
  /// Throws `Error`.
  void check_not_shared(char const* what) const;

 private:
  [[nodiscard]] static ArrayStatePtr make_from_block(DType const& dtype, Extents shape, BlockPtr block, int device_id,
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
  std::int64_t* _shape;  // after the object, in one allocation
  mutable std::atomic<std::uint32_t> _shape_version{0};
};

}  // namespace memarray::detail
