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

// Both take the tensor over: its deleter is called once, when the last view of it and of its views is gone, on whatever
// thread, or before they throw. Nothing that it says is trusted before it was looked at. Throw `BufferError`, saying
// what is wrong with it: a major version that is not ours, a negative or too large rank or extent, no shape, no data,
// a size or strides that overflow, a dtype or device that is unknown, elements that are not aligned.

// Memory on a CUDA device, or on a simulated one (which lends as an extension device), is used in the default stream of
// all threads, after what there is now in `ready_in`, the stream that the producer has it ready in; null: in that
// default stream. Managed memory is the host's, so that it is waited for, which is reported.

/// Views memory of another library; writable unless the tensor says READ_ONLY. `also` is dropped after the tensor, and
/// taken over like it.
[[nodiscard]] MEMARRAY_API ViewCore import_dlpack(DLManagedTensorVersioned* tensor, StreamHandle const& ready_in = {},
                                                  Block::Keeper also = {});
/// The same for the unversioned struct, which cannot say so, and is always writable.
[[nodiscard]] MEMARRAY_API ViewCore import_dlpack(DLManagedTensor* tensor, StreamHandle const& ready_in = {},
                                                  Block::Keeper also = {});
/// Views memory that `keeper` keeps alive and a borrowed tensor describes. The keeper is taken over like a tensor
/// above; the tensor is not read after the call.
[[nodiscard]] MEMARRAY_API ViewCore import_dlpack(DLTensor const& tensor, bool writable, Block::Keeper keeper,
                                                  StreamHandle const& ready_in = {});
/// Whether memory there is written in streams, so that it matters which the producer has it ready in.
[[nodiscard]] MEMARRAY_API bool is_used_in_streams(DLDevice device) noexcept;

/// A layout that somebody else tells: dense, or with strides in bytes. Throws `BufferError`.
[[nodiscard]] MEMARRAY_API StridedLayout import_layout(StridedLayout::Extents shape,
                                                       std::optional<StridedLayout::Extents> const& strides,
                                                       std::size_t itemsize);
/// Memory as other protocols describe it, in bytes. `keeper` is taken over as above. Throws `BufferError` likewise.
struct ForeignMemory {
  // No aggregate: the compiler clears all of one first.
  ForeignMemory(void* data_, Device device_, MemoryType type_, DType const* dtype_, StridedLayout const& layout_,
                bool writable_) noexcept
      : data(data_), device(device_), type(type_), dtype(dtype_), layout(layout_), writable(writable_) {}
  /// Of the host. Throws as `import_layout`.
  ForeignMemory(void* data_, DType const& dtype_, StridedLayout::Extents shape,
                std::optional<StridedLayout::Extents> const& strides, bool writable_)
      : data(data_), dtype(&dtype_), layout(import_layout(shape, strides, dtype_.itemsize)), writable(writable_) {}

  void* data;
  Device device{};
  MemoryType type = MemoryType::normal;
  DType const* dtype;
  StridedLayout layout;
  bool writable;
  StreamHandle ready_in{};  ///< of a device: all uses come after what is in this stream now; null: no order
};
/// The CUDA device whose memory is at an address, for protocols that do not say. Throws `BufferError`.
[[nodiscard]] MEMARRAY_API Device device_at(void const* address);
[[nodiscard]] MEMARRAY_API ViewCore import_memory(ForeignMemory const& memory, Block::Keeper keeper);
/// The host's memory, kept by `owner`, which is let go of with the last view, on whatever thread. No strides: dense.
/// Throws `BufferError` likewise.
[[nodiscard]] MEMARRAY_API ViewCore import_owned(void* data, DType const& dtype, StridedLayout::Extents shape,
                                                 StridedLayout::Extents strides, bool writable,
                                                 std::shared_ptr<void const> owner);

}  // namespace memarray::detail
