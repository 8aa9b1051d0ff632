#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/device.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/memory/block_export.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/detail/strided/strided_job.hpp>
#include <memarray/detail/strided/strided_reduce.hpp>
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

/// The untyped view behind all view types: a layout, and an export of a block that each copy counts. `BasicBufferView`
/// documents functions of its names. Access through a closed view throws `ValueError`. Const functions are thread-safe,
/// but do not protect elements.
///
/// Operations on device memory are work in the view's stream, ordered among all uses of the memory. They may complete
/// after the call. Results are in that stream. All may throw `CudaError`, `OutOfMemoryError`.
class MEMARRAY_API ViewCore {
 public:
  ViewCore() noexcept = default;
  /// `data`: the element at indices 0. `stream`: null if the host reaches the memory.
  ViewCore(BlockExport memory, std::byte* data, DType const& dtype, StridedLayout const& layout,
           ViewStreamPtr stream = nullptr) noexcept
      : _memory(std::move(memory)), _data(data), _dtype(dtype), _layout(layout), _stream(std::move(stream)) {}
  /// Exports an open lease, writable if it is a write lease. Throws `LockError`.
  explicit ViewCore(LeaseCore const& lease);
  /// Exports a C++ lease.
  ViewCore(ArrayState const& state, Block& block, bool writable, StreamDependencies::Lease stream_lease)
      : ViewCore(BlockExport(block, writable), state, stream_lease) {}
  /// Allocates dense, uninitialised host memory.
  [[nodiscard]] static ViewCore make(DType const& dtype, StridedLayout::Extents shape);

  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(_memory); }
  void check_open() const {
    if (!is_open()) throw_closed();
  }
  /// Moves the export, empty if closed, to the caller. Dropping it releases the memory.
  BlockExport close() noexcept {
    _stream = nullptr;
    return std::move(_memory);
  }
  [[nodiscard]] bool writable() const noexcept { return _memory.writable(); }
  /// True for memory that the host cannot reach.
  [[nodiscard]] bool on_device() const noexcept { return _stream != nullptr; }
  /// Requires device memory.
  [[nodiscard]] StreamHandle const& stream() const noexcept { return _stream->bound_stream.stream; }
  [[nodiscard]] ViewStreamPtr const& stream_ptr() const noexcept { return _stream; }
  /// Throws `ValueError` (closed), `TypeError` (another dtype or rank).
  void check_is(DType const& dtype, int ndim) const;
  /// Throws `ValueError` (closed), `BufferError` (the host cannot reach the memory).
  void check_host() const {
    if (!is_open() || on_device()) throw_not_on_host();
  }
  /// Throws `BufferError` (read-only). `what` names the operation.
  void check_writable(char const* what) const;
  /// Throws `ValueError` if indices share an element.
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

  /// Returns a view of this memory with `layout`, `offset` bytes away.
  [[nodiscard]] ViewCore at(StridedLayout const& layout, std::int64_t offset) const;
  [[nodiscard]] ViewCore read_only() const;
  [[nodiscard]] ViewCore reshaped(StridedLayout::Extents shape) const;
  [[nodiscard]] ViewCore broadcast_to(StridedLayout::Extents shape) const;

  /// Returns a dense, writable copy. `why` begins its report; null: none, as for copies of arrays by name.
  [[nodiscard]] ViewCore copy(char const* why = "copy of a ") const;
  [[nodiscard]] ViewCore ensure_contiguous() const;
  /// `stream`: null for the default.
  [[nodiscard]] ViewCore to_device(Device device, StreamChoice const* stream = nullptr) const;
  /// Requires device memory.
  [[nodiscard]] ViewCore in_stream(StreamHandle const& stream) const;
  /// Exports for use in `stream`, which waits for pending work. Null: for unknown streams; the view's own waits.
  void export_to(StreamHandle const* stream) const;
  /// Copies the first element to the host.
  void read_element(void* element) const;
  [[nodiscard]] ViewCore cast(DType const& dtype) const;
  /// Like `cast`, between any kinds of number, as NumPy's `astype`.
  [[nodiscard]] ViewCore astype(DType const& dtype) const;
  /// Reduces into new memory. `keep`: reduced dimensions stay, with one element. Throws like `reduce`.
  [[nodiscard]] ViewCore reduced(Reduction reduction, AxisMask axes, bool keep = false) const;
  /// Reduces over all axes to one element of the returned dtype, at most 16 bytes, on the host.
  DType const& reduce_all(Reduction reduction, std::byte* element) const;
  /// Throws like `check_writable` and `check_elements_apart`.
  void fill(void const* element) const;
  void add_index() const;

 private:
  ViewCore(BlockExport memory, ArrayState const& state, StreamDependencies::Lease stream_lease);
  /// Returns a view of this unified memory on `device`; closed if that needs a copy.
  [[nodiscard]] ViewCore without_copy(Device device, StreamChoice const* stream) const;
  [[nodiscard]] ViewCore make_here(DType const& dtype, StridedLayout::Extents shape) const;
  [[nodiscard]] ViewCore converted(DType const& dtype, char const* why) const;
  [[nodiscard]] StridedElements elements() const noexcept { return {_data, _dtype, _layout}; }
  static void run(StridedJob const& job, ViewCore const& target, ViewCore const* source);
  [[nodiscard]] static ViewCore make_on(DeviceMemoryPtr const& memory, BoundStream const& bound_stream,
                                        DType const& dtype, StridedLayout::Extents shape);
  void transfer_to(ViewCore const& target, BoundStream const& bound_stream, CopyMode ending) const;
  [[noreturn]] static void throw_closed();
  [[noreturn]] void throw_not_on_host() const;

  BlockExport _memory;
  std::byte* _data = nullptr;
  DType _dtype{};
  StridedLayout _layout;
  ViewStreamPtr _stream;
};

/// Implements `MemArray::view`, in the default stream. Throws `LockError`, `CudaError`.
[[nodiscard]] MEMARRAY_API ViewCore view_of(ArrayState& state);

/// Returns axes, negative from the end, as a mask. Throws `IndexError` (no such axis), `ValueError` (repeated).
[[nodiscard]] MEMARRAY_API AxisMask axis_mask(std::span<int const> axes, int ndim);

}  // namespace memarray::detail
