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

// The functions below take ownership of a tensor or a keep-alive. Its deleter is called exactly once, on any thread:
// when the last view of the memory is released, or before the function throws. All fields are validated before use.
// They throw `BufferError`, with the reason, for another DLPack major version, a negative or too large rank or extent,
// a missing shape or data pointer, an overflowing size or stride, an unknown dtype or device, and misaligned elements.

// Work on imported device memory runs in the legacy default stream, after the work that is now in `ready_in`, the
// stream in which the producer has the memory ready. Null stands for the legacy default stream. A simulated device
// exports its memory as an extension device, which is imported in this way, too. Managed memory becomes host memory:
// the import waits for the producer, and reports the wait.

/// Imports a versioned tensor; the view is writable unless the tensor is flagged READ_ONLY. Takes ownership of `also`,
/// too, and drops it after the tensor.
[[nodiscard]] MEMARRAY_API ViewCore import_dlpack(DLManagedTensorVersioned* tensor, StreamHandle const& ready_in = {},
                                                  Block::KeepAlive also = {});
/// Imports an unversioned tensor, which has no READ_ONLY flag; the view is always writable.
[[nodiscard]] MEMARRAY_API ViewCore import_dlpack(DLManagedTensor* tensor, StreamHandle const& ready_in = {},
                                                  Block::KeepAlive also = {});
/// Views memory that a borrowed tensor describes and `keep_alive` keeps alive. Takes ownership of the keep-alive; does
/// not read the tensor after the call.
[[nodiscard]] MEMARRAY_API ViewCore import_dlpack(DLTensor const& tensor, bool writable, Block::KeepAlive keep_alive,
                                                  StreamHandle const& ready_in = {});
/// True if memory on this device is written in streams, so that an import must know the stream in which it is ready.
[[nodiscard]] MEMARRAY_API bool is_used_in_streams(DLDevice device) noexcept;

/// Returns the layout that a producer describes: dense, or with strides in bytes. Throws `BufferError`.
[[nodiscard]] MEMARRAY_API StridedLayout import_layout(StridedLayout::Extents shape,
                                                       std::optional<StridedLayout::Extents> const& strides,
                                                       std::size_t itemsize);
/// Memory that a protocol other than DLPack describes, with strides in bytes.
struct ForeignMemory {
  // Not an aggregate, whose members the compiler would clear first.
  ForeignMemory(void* data_, Device device_, MemoryType type_, DType const* dtype_, StridedLayout const& layout_,
                bool writable_) noexcept
      : data(data_), device(device_), type(type_), dtype(dtype_), layout(layout_), writable(writable_) {}
  /// Describes host memory. Throws as `import_layout` does.
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
/// Returns the CUDA device that owns the memory at an address, for protocols that do not name the device. Throws
/// `BufferError`.
[[nodiscard]] MEMARRAY_API Device device_at(void const* address);
/// Views foreign memory, under the rules at the top. Takes ownership of `keep_alive`.
[[nodiscard]] MEMARRAY_API ViewCore import_memory(ForeignMemory const& memory, Block::KeepAlive keep_alive);
/// Views host memory that `owner` keeps alive; `owner` is released with the last view, on any thread. Empty `strides`:
/// dense in C order. Throws `BufferError`.
[[nodiscard]] MEMARRAY_API ViewCore import_owned(void* data, DType const& dtype, StridedLayout::Extents shape,
                                                 StridedLayout::Extents strides, bool writable,
                                                 std::shared_ptr<void const> owner);

}  // namespace memarray::detail
