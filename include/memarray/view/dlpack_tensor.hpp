#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <dlpack/dlpack.h>

#include <cstdint>
#include <utility>

namespace memarray {

/// An owner of a managed DLPack tensor, and so of its memory, until its release to a consumer. The deleter may run on
/// any thread.
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
  /// Requires an unreleased tensor.
  [[nodiscard]] DLTensor const& tensor() const noexcept {
    return _versioned ? _versioned->dl_tensor : _unversioned->dl_tensor;
  }
  /// Returns the `DLPACK_FLAG_BITMASK_…` flags; 0 if unversioned.
  [[nodiscard]] std::uint64_t flags() const noexcept { return _versioned ? _versioned->flags : 0; }

  /// Release ownership: the caller must call the deleter. Null for the other kind.
  [[nodiscard]] DLManagedTensor* release_unversioned() noexcept { return std::exchange(_unversioned, nullptr); }
  [[nodiscard]] DLManagedTensorVersioned* release_versioned() noexcept { return std::exchange(_versioned, nullptr); }

 private:
  DLManagedTensor* _unversioned = nullptr;
  DLManagedTensorVersioned* _versioned = nullptr;
};

namespace detail {

struct ExportRequest {
  StreamHandle const* stream = nullptr;  ///< the consumer's; null: none, and a `copy` from a device blocks
  bool copy = false;                     ///< a private copy: writable, flagged as copied
  bool to_host = false;                  ///< as CPU memory: only managed memory, unless `copy`
};

/// Export an open lease. Throw `LockError` (closed), `BufferError` (no DLPack dtype; a read lease in the unversioned
/// struct, which has no read-only flag), `CudaError`, `ValueError` (another device's stream).
[[nodiscard]] MEMARRAY_API DLManagedTensor* export_unversioned(LeaseCore const& lease,
                                                               ExportRequest const& request = {});
[[nodiscard]] MEMARRAY_API DLManagedTensorVersioned* export_versioned(LeaseCore const& lease,
                                                                      ExportRequest const& request = {});
/// Export a view, read-only if it is; with `request.copy` a dense copy. Throw likewise, but `ValueError` if closed, and
/// like `check_exportable_strides`.
[[nodiscard]] MEMARRAY_API DLManagedTensor* export_unversioned(ViewCore const& view, ExportRequest const& request = {});
[[nodiscard]] MEMARRAY_API DLManagedTensorVersioned* export_versioned(ViewCore const& view,
                                                                      ExportRequest const& request = {});
/// Throws `BufferError` (negative strides, at which some consumers abort; strides of partial elements).
MEMARRAY_API void check_exportable_strides(ViewCore const& view);
/// Writes strides in elements. Requires `check_exportable_strides`. Dimensions of at most one element get dense
/// strides: Fortran's if only that order is dense, else C's.
MEMARRAY_API void write_element_strides(ViewCore const& view, std::int64_t* strides);
/// Implements `MemArray::get_dlpack_tensor`.
[[nodiscard]] MEMARRAY_API DLPackTensor export_under(ArrayState& state, bool versioned, std::int64_t lock_id);

}  // namespace detail
}  // namespace memarray
