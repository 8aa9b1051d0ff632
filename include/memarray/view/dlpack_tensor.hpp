#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <dlpack/dlpack.h>

#include <cstdint>
#include <utility>

namespace memarray {

/// Owns a managed tensor of either kind until somebody takes it. The tensor keeps its memory alive by itself: a
/// reference to the block, shape and strides lie in one allocation, which the deleter frees, on any thread.
class MEMARRAY_API DLPackTensor {
 public:
  DLPackTensor() noexcept = default;
  explicit DLPackTensor(DLManagedTensor* tensor) noexcept : _unversioned(tensor) {}
  explicit DLPackTensor(DLManagedTensorVersioned* tensor) noexcept : _versioned(tensor) {}
  DLPackTensor(DLPackTensor&& other) noexcept
      : _unversioned(std::exchange(other._unversioned, nullptr)),
        _versioned(std::exchange(other._versioned, nullptr)) {}
  DLPackTensor& operator=(DLPackTensor&& other) noexcept {
    std::swap(_unversioned, other._unversioned);
    std::swap(_versioned, other._versioned);
    return *this;
  }
  ~DLPackTensor();

  [[nodiscard]] bool is_versioned() const noexcept { return _versioned != nullptr; }
  /// Not after a release.
  [[nodiscard]] DLTensor const& tensor() const noexcept {
    return _versioned ? _versioned->dl_tensor : _unversioned->dl_tensor;
  }
  /// DLPACK_FLAG_BITMASK_…; 0 for an unversioned tensor, which has none.
  [[nodiscard]] std::uint64_t flags() const noexcept { return _versioned ? _versioned->flags : 0; }

  /// The caller calls the tensor's deleter. Null if it is of the other kind.
  [[nodiscard]] DLManagedTensor* release_unversioned() noexcept { return std::exchange(_unversioned, nullptr); }
  [[nodiscard]] DLManagedTensorVersioned* release_versioned() noexcept { return std::exchange(_versioned, nullptr); }

 private:
  DLManagedTensor* _unversioned = nullptr;
  DLManagedTensorVersioned* _versioned = nullptr;
};

namespace detail {

/// How a consumer wants what it is lent.
struct LendRequest {
  StreamHandle const* stream = nullptr;  ///< of a device: where it will use it; null: it asks for no order
  bool copy = false;                     ///< a copy for it alone: writable, flagged as copied, under no lock
  bool to_host = false;                  ///< on the CPU: managed memory as it is, a copy wherever the array is
};

/// Lends what an open lease holds. Throws `LockError` (not open), `BufferError` (dtype that DLPack lacks; a read-only
/// lease to the unversioned struct, which cannot say so), `CudaError`, `ValueError` (a stream of another device).
[[nodiscard]] MEMARRAY_API DLManagedTensor* lend_unversioned(LeaseCore const& lease, LendRequest const& request = {});
[[nodiscard]] MEMARRAY_API DLManagedTensorVersioned* lend_versioned(LeaseCore const& lease,
                                                                    LendRequest const& request = {});
/// Lends a view, to read only if the view is. `request.copy`: a dense one for the consumer alone. Throws `ValueError`
/// (closed; a stream of another device), `CudaError`, `BufferError` (dtype or strides that DLPack lacks; negative
/// strides, of which some consumers die; read-only memory to the unversioned struct).
[[nodiscard]] MEMARRAY_API DLManagedTensor* lend_unversioned(ViewCore const& view, LendRequest const& request = {});
[[nodiscard]] MEMARRAY_API DLManagedTensorVersioned* lend_versioned(ViewCore const& view,
                                                                    LendRequest const& request = {});
/// Throws `BufferError` unless DLPack can say a view's strides, and its consumers can take them.
MEMARRAY_API void check_lendable_strides(ViewCore const& view);
/// Writes a view's strides in elements, as many as it has dimensions. Dimensions of one or no element get those of
/// dense memory, in Fortran's order where the view is dense in that alone. The strides must be lendable.
MEMARRAY_API void write_element_strides(ViewCore const& view, std::int64_t* strides);
/// What `MemArray::get_dlpack_tensor` returns: under the id of an open write lease it is writable; with −1 it is the
/// read-only export of a read lease that closes at once.
[[nodiscard]] MEMARRAY_API DLPackTensor lend_under(State& state, bool versioned, std::int64_t lock_id);

}  // namespace detail
}  // namespace memarray
