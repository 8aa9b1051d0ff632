#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/device.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/memory/block_export.hpp>
#include <memarray/detail/memory/stream_uses.hpp>
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
class State;

/// What a view is, whatever its type says of writing: a counted export of a block, and where in it the elements lie.
///
/// A plain value: copies are views of the same memory, which live apart. All that looks at memory throws `ValueError`
/// once the view is closed. Thread-safe as far as it is const; what others do with the memory meanwhile is theirs.
///
/// Of device memory: what is done with it is work in the view's stream, after all that uses the memory in other streams
/// so far, and before whoever uses it next; it may end after the call. Results are views in that stream. All of it may
/// throw `CudaError`, and `OutOfMemoryError` where there is a result.
class MEMARRAY_API ViewCore {
 public:
  /// A closed one.
  ViewCore() noexcept = default;
  /// `data`: the element whose indices are all 0.
  /// `stream`: of memory on a device.
  ViewCore(BlockExport memory, std::byte* data, DType const& dtype, StridedLayout const& layout,
           ViewStreamPtr stream = nullptr) noexcept
      : _memory(std::move(memory)), _data(data), _dtype(dtype), _layout(layout), _stream(std::move(stream)) {}
  /// What an open lease lends: writable under a write lease. The view outlives the lease, by the array's policy for
  /// escaped views. Throws `LockError` (not open).
  explicit ViewCore(LeaseCore const& lease);
  /// The same for a C++ lease, of its state and block. `lent`: of the block's uses, on a device.
  ViewCore(State const& state, Block& block, bool writable, StreamUses::Lease lent)
      : ViewCore(BlockExport(block, writable), state, lent) {}
  /// Dense, uninitialised memory of the view's own, on the host.
  [[nodiscard]] static ViewCore make(DType const& dtype, StridedLayout::Extents shape);

  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(_memory); }
  void check_open() const {
    if (!is_open()) throw_closed();
  }
  /// Lets go of the memory, or hands it to the caller; what was made of the view keeps it. Harmless twice.
  BlockExport close() noexcept {
    _stream = nullptr;
    return std::move(_memory);
  }
  [[nodiscard]] bool writable() const noexcept { return _memory.writable(); }
  /// Whether the memory is on a device, where the host does not reach it.
  [[nodiscard]] bool on_device() const noexcept { return _stream != nullptr; }
  /// The stream in which a view of device memory is used.
  [[nodiscard]] StreamHandle const& stream() const noexcept { return _stream->queue.stream; }
  [[nodiscard]] ViewStreamPtr const& stream_ptr() const noexcept { return _stream; }
  /// Throws `ValueError` (closed), `TypeError` (another dtype or rank).
  void check_is(DType const& dtype, int ndim) const;
  /// Throws `BufferError`, naming the copy to make, unless the host reaches the memory.
  void check_host() const {
    if (!is_open() || on_device()) throw_not_on_host();
  }
  /// Throws `ValueError` (closed), `BufferError` (read-only) naming `what`.
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
  /// "view of float32, shape (3, 4)"
  [[nodiscard]] std::string describe() const;

  /// Other elements of the same memory: those of `layout`, the first of which is `offset` bytes away.
  [[nodiscard]] ViewCore at(StridedLayout const& layout, std::int64_t offset) const;
  [[nodiscard]] ViewCore read_only() const;
  [[nodiscard]] ViewCore reshaped(StridedLayout::Extents shape) const;
  /// Throws as the layout's, and `OverflowError` for more bytes than 64 bits can say.
  [[nodiscard]] ViewCore broadcast_to(StridedLayout::Extents shape) const;

  /// Dense, writable memory with the same elements; reported as a copy, as `cast` is.
  [[nodiscard]] ViewCore copy() const;
  /// Itself where it is dense in C order, else a copy.
  [[nodiscard]] ViewCore ensure_contiguous() const;
  /// The same elements on another device or on the host: itself, or dense memory there, a reported copy. In `stream`,
  /// of either device; by default the view's own, from the host the default stream of the device. From the host it
  /// returns when the memory was read, to the host when it is there. Unified memory is not copied where the device and
  /// the host may use it at the same time: the result views the same memory; to the host it waits for work that uses
  /// the memory, which is reported. Throws `ValueError` (no such place; a stream of
  /// another device), `CudaError`, `OutOfMemoryError`.
  [[nodiscard]] ViewCore to_device(Device device, StreamChoice const* stream = nullptr) const;
  /// The same device memory, used in another stream of its device.
  [[nodiscard]] ViewCore in_stream(StreamHandle const& stream) const;
  /// Device memory is handed to somebody who uses it in `stream`, which comes after what is there now; null: in the
  /// view's own, or who knows where.
  void lend(StreamHandle const* stream) const;
  /// The first element, copied to the host.
  void read_element(void* element) const;
  /// The elements converted within a kind of number, as NumPy's 'same_kind' has it. Throws `TypeError`.
  [[nodiscard]] ViewCore cast(DType const& dtype) const;
  /// The reduction over `axes` in new memory with the other dimensions; `keep`: the axes stay with one element. Throws
  /// as `reduce` does.
  [[nodiscard]] ViewCore reduced(Reduction reduction, AxisMask axes, bool keep = false) const;
  /// The reduction over all axes: writes an element of the dtype that is returned, of 16 bytes at most.
  DType const& reduce_all(Reduction reduction, std::byte* element) const;
  /// Sets every element to the one at `element`. Throws as `check_writable`, and `ValueError` where indices share
  /// elements.
  void fill(void const* element) const;
  /// Adds to each element the sum of its indices. Throws as `fill` does, and `TypeError` for structs.
  void add_index() const;

 private:
  ViewCore(BlockExport memory, State const& state, StreamUses::Lease lent);
  /// The same unified memory as used on `device`; a closed view where that takes a copy.
  [[nodiscard]] ViewCore without_copy(Device device, StreamChoice const* stream) const;
  /// What getting at the elements there takes.
  [[nodiscard]] CopyDecision decide(Device where, bool takes_strides) const;
  /// Like `make`, in the memory and the stream of this one.
  [[nodiscard]] ViewCore make_here(DType const& dtype, StridedLayout::Extents shape) const;
  [[nodiscard]] ViewCore converted(DType const& dtype, char const* why) const;
  [[nodiscard]] StridedElements elements() const noexcept { return {_data, _dtype, _layout}; }
  /// Of an operation that was checked: `target` is written, `source`, if any, read.
  static void run(StridedJob const& job, ViewCore const& target, ViewCore const* source);
  [[nodiscard]] static ViewCore make_on(DeviceMemoryPtr const& memory, Queue const& queue, DType const& dtype,
                                        StridedLayout::Extents shape);
  /// Of a dense view, to another place.
  void transfer_to(ViewCore const& target, Queue const& queue, Ending ending) const;
  void check_elements_apart(char const* what) const;
  [[noreturn]] static void throw_closed();
  [[noreturn]] void throw_not_on_host() const;

  BlockExport _memory;
  std::byte* _data = nullptr;
  DType _dtype{};
  StridedLayout _layout;
  ViewStreamPtr _stream;
};

/// A read-only view of an array, through a read lease that closes at once; on a device for use in the default stream.
/// Throws `LockError`, `CudaError`.
[[nodiscard]] MEMARRAY_API ViewCore view_of(State& state);

[[nodiscard]] constexpr AxisMask every_axis(int ndim) noexcept { return (AxisMask{1} << ndim) - 1; }
/// Axes, below zero from the end, as a mask. Throws `IndexError` (no such axis), `ValueError` (one twice).
[[nodiscard]] MEMARRAY_API AxisMask axis_mask(std::span<int const> axes, int ndim);

}  // namespace memarray::detail
