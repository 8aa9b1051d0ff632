#pragma once

#include <memarray/detail/strided/strided_plan.hpp>
#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>
#include <memarray/strided/strided_layout.hpp>
#include <memarray/view/array_view.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace memarray {

/// A function parameter that accepts a container or a braced list: `view.reshape({2, -1})`. It borrows the values;
/// those of a braced list are valid until the call returns.
template <class T>
class ListOf : public std::span<T const> {
 public:
  using std::span<T const>::span;
  constexpr ListOf() noexcept = default;
  constexpr ListOf(std::span<T const> values) noexcept : std::span<T const>(values) {}
  constexpr ListOf(std::initializer_list<T> values) noexcept : std::span<T const>(values.begin(), values.size()) {}
};

/// A strided view of memory that an array or another library owns, with dtype, shape and strides known at run time. The
/// view keeps the memory alive.
///
/// Functions that return a view share the memory. Copies are explicit and reported. A view of an array counts as an
/// export: if it outlives its lease, the array's policy for escaped views applies. Every function that accesses the
/// memory throws `ValueError` if the view is closed.
///
/// Operations on device memory are work in the stream of the view's lease. They are ordered among all other users of
/// the memory and may complete after the call returns.
template <class Byte>
class BasicBufferView {
 public:
  static constexpr bool is_writable = !std::is_const_v<Byte>;
  using Extents = StridedLayout::Extents;

  /// Makes a closed view.
  BasicBufferView() noexcept = default;
  BasicBufferView(BasicBufferView const&) = default;
  BasicBufferView(BasicBufferView&&) noexcept = default;
  BasicBufferView& operator=(BasicBufferView const&) = default;
  BasicBufferView& operator=(BasicBufferView&&) noexcept = default;
  ~BasicBufferView() = default;
  /// Throws `BufferError` if this type is writable and the memory is read-only.
  explicit BasicBufferView(detail::ViewCore core) : _core(std::move(core)) {
    if (!_core.is_open()) return;
    if constexpr (is_writable)
      _core.check_writable("a BufferView");
    else if (_core.writable())
      _core = _core.read_only();
  }
  /// Exports the memory of an open lease. Throws `LockError` if the lease is closed, `BufferError`.
  template <class T, int ndim>
  explicit BasicBufferView(WriteLease<T, ndim> const& lease)
      : _core(lease.state(), lease.block(), is_writable, lease.stream_lease()) {}
  template <class T, int ndim>
    requires(!is_writable)
  explicit BasicBufferView(ReadLease<T, ndim> const& lease)
      : _core(lease.state(), lease.block(), false, lease.stream_lease()) {}
  /// Imports a DLPack tensor of another library and takes ownership of it. The tensor's deleter is called exactly once,
  /// on any thread: when the last view of it is released, or before this function throws. Work on device memory runs in
  /// the default stream, after the work that is now in `ready_in` (null: in the default stream). For managed memory the
  /// host waits for that work. Throws `BufferError` for an inconsistent tensor, an unknown dtype or device, and
  /// read-only memory if this type is writable; `CudaError`; `ValueError` for a stream of another device.
  [[nodiscard]] static BasicBufferView from_dlpack(DLManagedTensorVersioned* tensor,
                                                   StreamHandle const& ready_in = {}) {
    return BasicBufferView(detail::import_dlpack(tensor, ready_in));
  }
  [[nodiscard]] static BasicBufferView from_dlpack(DLManagedTensor* tensor, StreamHandle const& ready_in = {}) {
    return BasicBufferView(detail::import_dlpack(tensor, ready_in));
  }
  /// Views host memory that `owner` keeps alive; `owner` is released with the last view, on any thread. Strides are in
  /// bytes; without them the memory is dense in C order. Throws `BufferError` for a layout that leaves the address
  /// space and for misaligned elements.
  template <class T>
    requires(Element<std::remove_const_t<T>> && (!is_writable || !std::is_const_v<T>))
  [[nodiscard]] static BasicBufferView from_memory(T* data, ListOf<std::int64_t> shape,
                                                   std::shared_ptr<void const> owner,
                                                   ListOf<std::int64_t> strides = {}) {
    return BasicBufferView(detail::import_owned(const_cast<std::remove_const_t<T>*>(data),
                                                dtype_of<std::remove_const_t<T>>(), shape, strides, is_writable,
                                                std::move(owner)));
  }
  /// Converts any view to a read-only view.
  BasicBufferView(BasicBufferView<std::byte> const& other)  // NOLINT(google-explicit-constructor)
    requires(!is_writable)
      : BasicBufferView(other.core()) {}

  [[nodiscard]] bool is_open() const noexcept { return _core.is_open(); }
  /// Releases the memory. Views made from this view keep it alive. A second call does nothing.
  void close() noexcept { _core.close(); }

  /// Returns the address of the element whose indices are all 0; for device memory, a device address.
  [[nodiscard]] Byte* data() const { return _core.data(); }
  [[nodiscard]] DType const& dtype() const noexcept { return _core.dtype(); }
  [[nodiscard]] StridedLayout const& layout() const noexcept { return _core.layout(); }
  [[nodiscard]] Extents shape() const noexcept { return layout().shape(); }
  /// Returns the strides in bytes.
  [[nodiscard]] Extents strides() const noexcept { return layout().strides(); }
  [[nodiscard]] int ndim() const noexcept { return layout().ndim(); }
  [[nodiscard]] std::int64_t size() const noexcept { return layout().size(); }
  [[nodiscard]] Device device() const { return _core.device(); }
  [[nodiscard]] MemoryType memory_type() const { return _core.memory_type(); }
  [[nodiscard]] static constexpr bool writable() noexcept { return is_writable; }
  /// True if the elements are dense in C order.
  [[nodiscard]] bool is_contiguous() const noexcept { return _core.is_contiguous(); }

  /// Return views of part of the elements, or of all in another arrangement. Throw as the function of this name in
  /// `StridedLayout`.
  [[nodiscard]] BasicBufferView slice(int dimension, Slice const& range) const {
    return changed([&](StridedLayout& layout) { return layout.slice(dimension, range); });
  }
  [[nodiscard]] BasicBufferView select(int dimension, std::int64_t index) const {
    return changed([&](StridedLayout& layout) { return layout.select(dimension, index); });
  }
  [[nodiscard]] BasicBufferView insert(int dimension) const {
    return changed([&](StridedLayout& layout) { return layout.insert(dimension), 0; });
  }
  [[nodiscard]] BasicBufferView transpose(ListOf<int> axes = {}) const {
    return changed([&](StridedLayout& layout) { return layout.transpose(axes), 0; });
  }
  /// Returns a view of all elements, in C order, under another shape. Throws `ValueError` if that needs a copy.
  [[nodiscard]] BasicBufferView reshape(ListOf<std::int64_t> shape) const {
    return BasicBufferView(_core.reshaped(shape));
  }
  /// Returns a view that repeats dimensions of one element. It is read-only, as several indices share an element.
  [[nodiscard]] ConstBufferView broadcast_to(ListOf<std::int64_t> shape) const {
    return ConstBufferView(_core.broadcast_to(shape));
  }

  /// Returns a typed view. Throws `TypeError` for another element type, rank or order; `BufferError` for memory on the
  /// wrong side of host and device.
  template <class T, int n, ViewOptions options = ViewOptions::none>
    requires(is_writable || std::is_const_v<T>)
  [[nodiscard]] ArrayView<T, n, options> as() const {
    return ArrayView<T, n, options>(_core);
  }

  /// Returns the elements on another device or on the host: this view if its memory is there, else a dense copy, which
  /// is reported. Unified memory is viewed, not copied, if the device and the host may use it at the same time; for the
  /// host the call then waits for pending work, and reports the wait.
  ///
  /// The copy runs in `stream`, which belongs to either device. The default is the view's own stream; from the host,
  /// the device's default stream. A copy from the host returns once the source has been read, a copy to the host once
  /// it is complete. Throws `ValueError` (no such device; a stream of another device), `CudaError`, `OutOfMemoryError`.
  [[nodiscard]] BasicBufferView to_device(Device device) const { return BasicBufferView(_core.to_device(device)); }
  [[nodiscard]] BasicBufferView to_device(Device device, StreamChoice const& stream) const {
    return BasicBufferView(_core.to_device(device, &stream));
  }
  [[nodiscard]] BufferView copy() const { return BufferView(_core.copy()); }
  /// Returns this view if it is dense in C order, else a copy, which is reported.
  [[nodiscard]] BasicBufferView ensure_contiguous() const { return BasicBufferView(_core.ensure_contiguous()); }
  /// Returns a copy with another dtype of a compatible kind (NumPy's `same_kind`). Throws `TypeError`.
  [[nodiscard]] BufferView cast(DType const& dtype) const { return BufferView(_core.cast(dtype)); }

  /// Returns a description of the loops that an operation would run; `axes` are those of a reduction. Operations:
  /// "sum", "mean", "min", "max", "copy", "cast" (to elements of 8 bytes), "fill", "add_index". Throws `ValueError` for
  /// any other.
  [[nodiscard]] std::string plan(std::string_view operation, ListOf<int> axes = {}) const {
    _core.check_open();
    return to_string(detail::plan(operation, dtype(), layout(), mask_of(axes)));
  }
  /// Exports the memory as a DLPack tensor, like `__dlpack__` of Python's views. The tensor is read-only if the view
  /// is. Throws `ValueError` (closed); `BufferError` for a dtype that DLPack lacks, for strides that DLPack or its
  /// consumers do not support, and for read-only memory in the unversioned struct; `CudaError`.
  [[nodiscard]] DLPackTensor get_dlpack_tensor(bool versioned = true) const {
    return versioned ? DLPackTensor(detail::export_versioned(_core)) : DLPackTensor(detail::export_unversioned(_core));
  }

  /// Reduce over `axes`, or over all axes if there are none; a negative axis counts from the end. The result is new
  /// memory with the other dimensions. Integers are summed in 64 bits; floating-point numbers are summed in double
  /// precision and rounded once. Throw `IndexError` (no such axis), `ValueError` (a repeated axis, or the minimum or
  /// maximum of no elements), `TypeError` for structs.
  [[nodiscard]] BufferView sum(ListOf<int> axes = {}) const { return reduced(detail::Reduction::sum, axes); }
  [[nodiscard]] BufferView mean(ListOf<int> axes = {}) const { return reduced(detail::Reduction::mean, axes); }
  [[nodiscard]] BufferView min(ListOf<int> axes = {}) const { return reduced(detail::Reduction::min, axes); }
  [[nodiscard]] BufferView max(ListOf<int> axes = {}) const { return reduced(detail::Reduction::max, axes); }

  /// Sets every element to `value`. Throws `TypeError` unless T is the view's element type.
  template <class T>
    requires(is_writable && Element<T>)
  void fill(T const& value) const {
    detail::check_element(_core, dtype_of<T>());
    _core.fill(&value);
  }
  /// Adds to each element the sum of its indices.
  void add_index() const
    requires(is_writable)
  {
    _core.add_index();
  }

  [[nodiscard]] detail::ViewCore const& core() const noexcept { return _core; }

 private:
  [[nodiscard]] BufferView reduced(detail::Reduction reduction, std::span<int const> axes) const {
    return BufferView(_core.reduced(reduction, mask_of(axes)));
  }
  [[nodiscard]] detail::AxisMask mask_of(std::span<int const> axes) const {
    return axes.empty() ? detail::every_axis(ndim()) : detail::axis_mask(axes, ndim());
  }
  template <class Change>
  [[nodiscard]] BasicBufferView changed(Change const& change) const {
    StridedLayout layout = _core.layout();
    std::int64_t const offset = change(layout);
    return BasicBufferView(_core.at(layout, offset));
  }

  detail::ViewCore _core;
};

template <class T, int ndim>
ConstBufferView ReadLease<T, ndim>::view() const {
  return ConstBufferView(*this);
}

template <class T, int ndim>
BufferView WriteLease<T, ndim>::view() const {
  return BufferView(*this);
}

}  // namespace memarray
