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

/// The untyped view behind all view types: a counted export of a block, and a layout. A copy has its own lifetime.
/// Functions that access memory throw `ValueError` if the view is closed. Const functions are thread-safe, but do not
/// protect the elements.
///
/// Operations on device memory are work in the view's stream, ordered among all uses of the memory. They may complete
/// after the call returns. Results are views in that stream. All may throw `CudaError`, and `OutOfMemoryError` for a
/// result.
class MEMARRAY_API ViewCore {
 public:
  ViewCore() noexcept = default;
  /// Views memory under a counted export. `data`: the element whose indices are all 0. `stream`: for device memory
  /// only.
  ViewCore(BlockExport memory, std::byte* data, DType const& dtype, StridedLayout const& layout,
           ViewStreamPtr stream = nullptr) noexcept
      : _memory(std::move(memory)), _data(data), _dtype(dtype), _layout(layout), _stream(std::move(stream)) {}
  /// Exports the memory of an open lease, writable if it is a write lease. Throws `LockError`.
  explicit ViewCore(LeaseCore const& lease);
  /// Exports the memory of a C++ lease.
  ViewCore(ArrayState const& state, Block& block, bool writable, StreamDependencies::Lease stream_lease)
      : ViewCore(BlockExport(block, writable), state, stream_lease) {}
  /// Allocates dense, uninitialised host memory.
  [[nodiscard]] static ViewCore make(DType const& dtype, StridedLayout::Extents shape);

  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(_memory); }
  void check_open() const {
    if (!is_open()) throw_closed();
  }
  /// Releases the memory, or moves its export to the caller. Does nothing on a closed view.
  BlockExport close() noexcept {
    _stream = nullptr;
    return std::move(_memory);
  }
  [[nodiscard]] bool writable() const noexcept { return _memory.writable(); }
  /// True for memory that the host cannot reach.
  [[nodiscard]] bool on_device() const noexcept { return _stream != nullptr; }
  /// Requires device memory.
  [[nodiscard]] StreamHandle const& stream() const noexcept { return _stream->queue.stream; }
  [[nodiscard]] ViewStreamPtr const& stream_ptr() const noexcept { return _stream; }
  /// Throws `ValueError` (closed), `TypeError` (another dtype or rank).
  void check_is(DType const& dtype, int ndim) const;
  /// Throws `BufferError`, which names the copy to make, if the host cannot reach the memory.
  void check_host() const {
    if (!is_open() || on_device()) throw_not_on_host();
  }
  /// Throws `BufferError` (read-only); `what` names the operation.
  void check_writable(char const* what) const;
  /// Throws `ValueError` if indices share an element; `what` names the operation.
  void check_elements_apart(char const* what) const;

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
  [[nodiscard]] bool is_fortran_contiguous() const noexcept { return _layout.is_fortran_contiguous(_dtype.itemsize); }
  /// Returns "view of float32, shape (3, 4)".
  [[nodiscard]] std::string describe() const;

  /// Returns a view of `layout` in this memory, starting `offset` bytes away.
  [[nodiscard]] ViewCore at(StridedLayout const& layout, std::int64_t offset) const;
  [[nodiscard]] ViewCore read_only() const;
  [[nodiscard]] ViewCore reshaped(StridedLayout::Extents shape) const;
  /// Returns a read-only view. Throws as `StridedLayout::broadcast_to` does, and `OverflowError` if the bytes exceed 64
  /// bits.
  [[nodiscard]] ViewCore broadcast_to(StridedLayout::Extents shape) const;

  /// Returns a dense, writable, reported copy.
  /// `why` begins the report; null: not reported, as for copies of arrays that are requested by name.
  [[nodiscard]] ViewCore copy(char const* why = "copy of a ") const;
  /// Returns this view if it is dense in C order, else a reported copy.
  [[nodiscard]] ViewCore ensure_contiguous() const;
  /// Implements `BasicBufferView::to_device`. `stream`: null for the default there.
  [[nodiscard]] ViewCore to_device(Device device, StreamChoice const* stream = nullptr) const;
  /// Requires device memory.
  [[nodiscard]] ViewCore in_stream(StreamHandle const& stream) const;
  /// Makes later work in `stream` wait for pending work, for an export. Null: the consumer may use any stream.
  void export_to(StreamHandle const* stream) const;
  /// Copies the first element to the host.
  void read_element(void* element) const;
  /// Returns a reported copy, converted by NumPy's `same_kind` rule. Throws `TypeError`.
  [[nodiscard]] ViewCore cast(DType const& dtype) const;
  /// Returns a reported copy, converted between any kinds of number, as NumPy's `astype` does. Throws `TypeError` for
  /// other elements.
  [[nodiscard]] ViewCore astype(DType const& dtype) const;
  /// Reduces into new memory. `keep`: reduced dimensions stay, with one element. Throws as `reduce` does.
  [[nodiscard]] ViewCore reduced(Reduction reduction, AxisMask axes, bool keep = false) const;
  /// Reduces over all axes to one element of the returned dtype, at most 16 bytes, on the host.
  DType const& reduce_all(Reduction reduction, std::byte* element) const;
  /// Throws as `check_writable` does, and `ValueError` if indices share an element.
  void fill(void const* element) const;
  /// Adds to each element its index sum. Throws as `fill` does, and `TypeError` for structs.
  void add_index() const;

 private:
  ViewCore(BlockExport memory, ArrayState const& state, StreamDependencies::Lease stream_lease);
  /// Returns a view of this unified memory on `device`; a closed one if that needs a copy.
  [[nodiscard]] ViewCore without_copy(Device device, StreamChoice const* stream) const;
  [[nodiscard]] CopyDecision decide(Device where, bool takes_strides) const;
  /// Allocates on this view's device, in its stream.
  [[nodiscard]] ViewCore make_here(DType const& dtype, StridedLayout::Extents shape) const;
  [[nodiscard]] ViewCore converted(DType const& dtype, char const* why) const;
  [[nodiscard]] StridedElements elements() const noexcept { return {_data, _dtype, _layout}; }
  static void run(StridedJob const& job, ViewCore const& target, ViewCore const* source);
  [[nodiscard]] static ViewCore make_on(DeviceMemoryPtr const& memory, BoundStream const& queue, DType const& dtype,
                                        StridedLayout::Extents shape);
  void transfer_to(ViewCore const& target, BoundStream const& queue, CopyMode ending) const;
  [[noreturn]] static void throw_closed();
  [[noreturn]] void throw_not_on_host() const;

  BlockExport _memory;
  std::byte* _data = nullptr;
  DType _dtype{};
  StridedLayout _layout;
  ViewStreamPtr _stream;
};

/// Returns a read-only view in the default stream, through a read lease that closes at once. Throws `LockError`,
/// `CudaError`.
[[nodiscard]] MEMARRAY_API ViewCore view_of(ArrayState& state);

[[nodiscard]] constexpr AxisMask every_axis(int ndim) noexcept { return (AxisMask{1} << ndim) - 1; }
/// Returns axes as a mask; negative ones count from the end. Throws `IndexError` (no such axis), `ValueError`
/// (repeated).
[[nodiscard]] MEMARRAY_API AxisMask axis_mask(std::span<int const> axes, int ndim);

}  // namespace memarray::detail
