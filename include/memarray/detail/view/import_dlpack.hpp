#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <dlpack/dlpack.h>

#include <cstddef>
#include <memory>
#include <optional>

namespace memarray::detail {

// Imports follow `BasicBufferView::from_dlpack` in ownership (also of keep-alives), streams and errors. All fields are
// validated. Driver failures throw `CudaError`. While devices are simulated, `kDLExtDev` is device memory. Managed
// memory becomes host memory, after a reported wait for the producer.

/// Views a tensor, writable unless flagged READ_ONLY. Drops the keep-alive `also` after the tensor.
[[nodiscard]] MEMARRAY_API ViewCore import_dlpack(DLManagedTensorVersioned* tensor, StreamHandle const& ready_in = {},
                                                  Block::KeepAlive also = {});
/// Views an unversioned tensor, writable as it has no READ_ONLY flag.
[[nodiscard]] MEMARRAY_API ViewCore import_dlpack(DLManagedTensor* tensor, StreamHandle const& ready_in = {},
                                                  Block::KeepAlive also = {});
/// Views memory that `keep_alive` keeps. Does not read `tensor` after the call.
[[nodiscard]] MEMARRAY_API ViewCore import_dlpack(DLTensor const& tensor, bool writable, Block::KeepAlive keep_alive,
                                                  StreamHandle const& ready_in = {});
/// True if an import from this device needs `ready_in`.
[[nodiscard]] MEMARRAY_API bool is_used_in_streams(DLDevice device) noexcept;

/// Returns a checked layout: dense without `strides` (in bytes). Throws `BufferError`.
[[nodiscard]] MEMARRAY_API StridedLayout import_layout(StridedLayout::Extents shape,
                                                       std::optional<StridedLayout::Extents> const& strides,
                                                       std::size_t itemsize);
/// Another library's memory, described by any protocol, with strides in bytes.
struct ForeignMemory {
  // Not an aggregate: the compiler would clear the whole layout first.
  ForeignMemory(void* data_, Device device_, MemoryType type_, DType const* dtype_, StridedLayout const& layout_,
                bool writable_) noexcept
      : data(data_), device(device_), type(type_), dtype(dtype_), layout(layout_), writable(writable_) {}
  /// For host memory. Throws like `import_layout`.
  ForeignMemory(void* data_, DType const& dtype_, StridedLayout::Extents shape,
                std::optional<StridedLayout::Extents> const& strides, bool writable_)
      : data(data_), dtype(&dtype_), layout(import_layout(shape, strides, dtype_.itemsize)), writable(writable_) {}

  void* data;
  Device device{};
  MemoryType type = MemoryType::normal;
  DType const* dtype;
  StridedLayout layout;
  bool writable;
  StreamHandle ready_in{};  ///< on a device: its current work precedes all uses; null: no order
};
/// Returns the CUDA device that owns an address. Throws `BufferError`, `CudaError`.
[[nodiscard]] MEMARRAY_API Device device_at(void const* address);
[[nodiscard]] MEMARRAY_API ViewCore import_memory(ForeignMemory const& memory, Block::KeepAlive keep_alive);
/// Implements `BasicBufferView::from_memory`. Throws `BufferError`.
[[nodiscard]] MEMARRAY_API ViewCore import_owned(void* data, DType const& dtype, StridedLayout::Extents shape,
                                                 StridedLayout::Extents strides, bool writable,
                                                 std::shared_ptr<void const> owner);

}  // namespace memarray::detail
