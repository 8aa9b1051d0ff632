#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/device.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/memory/block_export.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/detail/strided/strided_job.hpp>
#include <memarray/detail/strided/strided_reduce.hpp>
#include <memarray/detail/view/copy_decision.hpp>
#include <memarray/detail/view/view_stream.hpp>
#include <memarray/driver/stream_choice.hpp>
#include <memarray/memory/memory_type.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace memarray::detail {

class LeaseCore;
class ArrayState;

/// The untyped view behind all view types: a counted export of a block, and the layout of the elements in it.
///
/// A plain value: a copy views the same memory and has its own lifetime. Every function that accesses memory throws
/// `ValueError` if the view is closed. Const functions are thread-safe, but do not protect the elements against other
/// users of the memory.
///
/// Operations on device memory are work in the view's stream, ordered after pending work in other streams and before
/// the memory's next user. They may complete after the call returns. Results are views in that stream. All may throw
/// `CudaError`, and `OutOfMemoryError` if they make a result.
class MEMARRAY_API ViewCore {
 public:
  /// Makes a closed view.
  ViewCore() noexcept = default;
  /// Views memory under an export that was counted. `data`: the element whose indices are all 0. `stream`: set for
  /// device memory only.
  ViewCore(BlockExport memory, std::byte* data, DType const& dtype, StridedLayout const& layout,
           ViewStreamPtr stream = nullptr) noexcept
      : _memory(std::move(memory)), _data(data), _dtype(dtype), _layout(layout), _stream(std::move(stream)) {}
  /// Exports the memory of an open lease, writable if it is a write lease. A view that outlives the lease falls under
  /// the array's policy for escaped views. Throws `LockError` (not open).
  explicit ViewCore(LeaseCore const& lease);
  /// Exports the memory of a C++ lease. `stream_lease`: the lease's entry in the block's `StreamDependencies`; 0 on the
  /// host.
  ViewCore(ArrayState const& state, Block& block, bool writable, StreamDependencies::Lease stream_lease)
      : ViewCore(BlockExport(block, writable), state, stream_lease) {}
  /// Allocates dense, uninitialised host memory.
  [[nodiscard]] static ViewCore make(DType const& dtype, StridedLayout::Extents shape);

  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(_memory); }
  void check_open() const {
    if (!is_open()) throw_closed();
  }
  /// Releases the memory, or moves its export to the caller. Views made from this view keep the memory. A second call
  /// does nothing.
  BlockExport close() noexcept {
    _stream = nullptr;
    return std::move(_memory);
  }
  [[nodiscard]] bool writable() const noexcept { return _memory.writable(); }
  /// True if the memory is on a device, not reachable from the host.
  [[nodiscard]] bool on_device() const noexcept { return _stream != nullptr; }
  /// Returns the stream for work on the memory. Requires device memory.
  [[nodiscard]] StreamHandle const& stream() const noexcept { return _stream->queue.stream; }
  [[nodiscard]] ViewStreamPtr const& stream_ptr() const noexcept { return _stream; }
  /// Throws `ValueError` (closed), `TypeError` (another dtype or rank).
  void check_is(DType const& dtype, int ndim) const;
  /// Throws `BufferError`, which names the copy to make, unless the host can reach the memory.
  void check_host() const {
    if (!is_open() || on_device()) throw_not_on_host();
  }
  /// Throws `ValueError` (closed) or `BufferError` (read-only). `what`: the refused operation, for the message.
  void check_writable(char const* what) const;

  [[nodiscard]] std::byte* data() const {
    check_open();
    return _data;
  }
  [[nodiscard]] Block& block() const {
    check_open();
    return _memory.block();
  }
  [[nodiscard]] BlockExport const& memory() const {
    check_open();
    return _memory;
  }
  [[nodiscard]] DType const& dtype() const noexcept { return _dtype; }
  [[nodiscard]] StridedLayout const& layout() const noexcept { return _layout; }
  [[nodiscard]] Device device() const { return block().device(); }
  [[nodiscard]] MemoryType memory_type() const { return block().memory_type(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(_layout.size()) * _dtype.itemsize;
  }
  [[nodiscard]] bool is_contiguous() const noexcept { return _layout.is_contiguous(_dtype.itemsize); }
  /// Returns a description for messages: "view of float32, shape (3, 4)".
  [[nodiscard]] std::string describe() const;

  /// Returns a view of other elements of this memory: those of `layout`, whose first element is `offset` bytes away.
  [[nodiscard]] ViewCore at(StridedLayout const& layout, std::int64_t offset) const;
  [[nodiscard]] ViewCore read_only() const;
  [[nodiscard]] ViewCore reshaped(StridedLayout::Extents shape) const;
  /// Throws as `StridedLayout::broadcast_to` does, and `OverflowError` if the size in bytes exceeds 64 bits.
  [[nodiscard]] ViewCore broadcast_to(StridedLayout::Extents shape) const;

  /// Returns a dense, writable copy, which is reported.
  [[nodiscard]] ViewCore copy() const;
  /// Returns this view if it is dense in C order, else a copy, which is reported.
  [[nodiscard]] ViewCore ensure_contiguous() const;
  /// Implements `BasicBufferView::to_device`. `stream`: null for the default stream given there.
  [[nodiscard]] ViewCore to_device(Device device, StreamChoice const* stream = nullptr) const;
  /// Returns a view of this device memory for use in another stream of its device.
  [[nodiscard]] ViewCore in_stream(StreamHandle const& stream) const;
  /// Orders an export of device memory for use in `stream`, whose later work waits for the pending work on the memory.
  /// Null: the consumer may use the view's stream or any other.
  void export_to(StreamHandle const* stream) const;
  /// Copies the first element to `element`, on the host.
  void read_element(void* element) const;
  /// Returns a copy converted to another dtype of a compatible kind (NumPy's `same_kind`), which is reported. Throws
  /// `TypeError`.
  [[nodiscard]] ViewCore cast(DType const& dtype) const;
  /// Reduces over `axes` into new memory with the other dimensions. `keep`: reduced dimensions stay, with one element.
  /// Throws as `reduce` does.
  [[nodiscard]] ViewCore reduced(Reduction reduction, AxisMask axes, bool keep = false) const;
  /// Reduces over all axes. Writes one element of the returned dtype, of at most 16 bytes, to `element` on the host.
  DType const& reduce_all(Reduction reduction, std::byte* element) const;
  /// Sets every element to the one at `element`. Throws as `check_writable` does; `ValueError` if several indices share
  /// an element.
  void fill(void const* element) const;
  /// Adds to each element the sum of its indices. Throws as `fill` does, and `TypeError` for structs.
  void add_index() const;

 private:
  ViewCore(BlockExport memory, ArrayState const& state, StreamDependencies::Lease stream_lease);
  /// Returns a view of this unified memory for use on `device`; a closed view if that needs a copy.
  [[nodiscard]] ViewCore without_copy(Device device, StreamChoice const* stream) const;
  /// Returns how an operation on device `where` reaches the elements.
  [[nodiscard]] CopyDecision decide(Device where, bool takes_strides) const;
  /// Allocates like `make`, on this view's device and in its stream.
  [[nodiscard]] ViewCore make_here(DType const& dtype, StridedLayout::Extents shape) const;
  [[nodiscard]] ViewCore converted(DType const& dtype, char const* why) const;
  [[nodiscard]] StridedElements elements() const noexcept { return {_data, _dtype, _layout}; }
  /// Runs a checked operation, which writes `target` and reads `source` unless it is null.
  static void run(StridedJob const& job, ViewCore const& target, ViewCore const* source);
  [[nodiscard]] static ViewCore make_on(DeviceMemoryPtr const& memory, BoundStream const& queue, DType const& dtype,
                                        StridedLayout::Extents shape);
  /// Copies a dense view to memory on another device or on the host.
  void transfer_to(ViewCore const& target, BoundStream const& queue, CopyMode ending) const;
  void check_elements_apart(char const* what) const;
  [[noreturn]] static void throw_closed();
  [[noreturn]] void throw_not_on_host() const;

  BlockExport _memory;
  std::byte* _data = nullptr;
  DType _dtype{};
  StridedLayout _layout;
  ViewStreamPtr _stream;
};

/// Returns a read-only view of an array, made through a read lease that closes at once; device memory is used in the
/// default stream. Throws `LockError`, `CudaError`.
[[nodiscard]] MEMARRAY_API ViewCore view_of(ArrayState& state);

[[nodiscard]] constexpr AxisMask every_axis(int ndim) noexcept { return (AxisMask{1} << ndim) - 1; }
/// Returns axes as a mask; a negative axis counts from the end. Throws `IndexError` (no such axis), `ValueError`
/// (repeated).
[[nodiscard]] MEMARRAY_API AxisMask axis_mask(std::span<int const> axes, int ndim);

}  // namespace memarray::detail
