#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <dlpack/dlpack.h>

#include <cstdint>
#include <utility>

namespace memarray {

/// An owner of a DLPack managed tensor, versioned or unversioned, until it is released to a consumer. The tensor keeps
/// its memory alive by itself. One allocation holds the reference to the block, the shape and the strides; the deleter
/// frees it, on any thread.
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
  /// Requires a tensor that has not been released.
  [[nodiscard]] DLTensor const& tensor() const noexcept {
    return _versioned ? _versioned->dl_tensor : _unversioned->dl_tensor;
  }
  /// Returns the `DLPACK_FLAG_BITMASK_…` flags; 0 for an unversioned tensor.
  [[nodiscard]] std::uint64_t flags() const noexcept { return _versioned ? _versioned->flags : 0; }

  /// Release ownership: the caller must call the tensor's deleter. Return null if the tensor is of the other kind.
  [[nodiscard]] DLManagedTensor* release_unversioned() noexcept { return std::exchange(_unversioned, nullptr); }
  [[nodiscard]] DLManagedTensorVersioned* release_versioned() noexcept { return std::exchange(_versioned, nullptr); }

 private:
  DLManagedTensor* _unversioned = nullptr;
  DLManagedTensorVersioned* _versioned = nullptr;
};

namespace detail {

/// The options of an export that a consumer requests.
struct ExportRequest {
  StreamHandle const* stream = nullptr;  ///< the consumer's stream on a device; null: no order requested
  bool copy = false;                     ///< export a private copy: writable, flagged as copied, not locked
  bool to_host = false;                  ///< export as CPU memory: managed memory as it is; with `copy`, any memory
};

/// Export the memory of an open lease. Throw `LockError` (not open); `BufferError` for a dtype that DLPack lacks, and
/// for a read lease in the unversioned struct, which has no read-only flag; `CudaError`; `ValueError` (a stream of
/// another device).
[[nodiscard]] MEMARRAY_API DLManagedTensor* export_unversioned(LeaseCore const& lease,
                                                               ExportRequest const& request = {});
[[nodiscard]] MEMARRAY_API DLManagedTensorVersioned* export_versioned(LeaseCore const& lease,
                                                                      ExportRequest const& request = {});
/// Export a view; the tensor is read-only if the view is. With `request.copy` they export a dense private copy. Throw
/// `ValueError` (closed; a stream of another device); `CudaError`; `BufferError` for a dtype or strides that DLPack
/// lacks, negative strides (some consumers abort), and read-only memory in the unversioned struct.
[[nodiscard]] MEMARRAY_API DLManagedTensor* export_unversioned(ViewCore const& view, ExportRequest const& request = {});
[[nodiscard]] MEMARRAY_API DLManagedTensorVersioned* export_versioned(ViewCore const& view,
                                                                      ExportRequest const& request = {});
/// Throws `BufferError` unless DLPack can express the view's strides and its consumers support them.
MEMARRAY_API void check_exportable_strides(ViewCore const& view);
/// Writes the strides in elements, one for each dimension. Dimensions with at most one element get the strides of dense
/// memory: in Fortran order if the view is dense in Fortran order only, else in C order. The strides must pass
/// `check_exportable_strides`.
MEMARRAY_API void write_element_strides(ViewCore const& view, std::int64_t* strides);
/// Returns the tensor for `MemArray::get_dlpack_tensor`. With the id of an open write lease it is writable. With −1 it
/// is the read-only export of a read lease that closes at once.
[[nodiscard]] MEMARRAY_API DLPackTensor export_under(ArrayState& state, bool versioned, std::int64_t lock_id);

}  // namespace detail
}  // namespace memarray
