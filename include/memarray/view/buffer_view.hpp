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

/// A parameter that borrows a container or braced list until the call returns.
template <class T>
class ListOf : public std::span<T const> {
 public:
  using std::span<T const>::span;
  constexpr ListOf() noexcept = default;
  constexpr ListOf(std::span<T const> values) noexcept : std::span<T const>(values) {}
  constexpr ListOf(std::initializer_list<T> values) noexcept : std::span<T const>(values.begin(), values.size()) {}
};

/// A strided view of any library's memory, with run-time dtype, shape and strides (in bytes). Keeps the memory alive.
/// Views of arrays are exports: after the lease, the policy for escaped views applies. Access through a closed view
/// throws `ValueError`.
///
/// Functions that return views share memory; copies are explicit and reported. Device operations run in the view's
/// stream, ordered among the memory's users, may complete after the call, and throw `CudaError`.
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
  /// Throws `BufferError` for read-only memory if this type is writable.
  explicit BasicBufferView(detail::ViewCore core) : _core(std::move(core)) {
    if (!_core.is_open()) return;
    if constexpr (is_writable)
      _core.check_writable("a BufferView");
    else if (_core.writable())
      _core = _core.read_only();
  }
  /// Exports an open lease. Throws `LockError` (closed), `BufferError`.
  template <class T, int ndim>
  explicit BasicBufferView(WriteLease<T, ndim> const& lease)
      : _core(lease.state(), lease.block(), is_writable, lease.stream_lease()) {}
  template <class T, int ndim>
    requires(!is_writable)
  explicit BasicBufferView(ReadLease<T, ndim> const& lease)
      : _core(lease.state(), lease.block(), false, lease.stream_lease()) {}
  /// Takes ownership of a DLPack tensor. Its deleter is called once, on any thread: with the last view, or before an
  /// exception. Device work runs in the legacy default stream, after the current work in `ready_in` (null: that
  /// stream); for managed memory the host waits instead. Throws `BufferError` (inconsistent; another major version;
  /// unknown dtype or device; read-only for a writable view), `ValueError` (another device's stream).
  [[nodiscard]] static BasicBufferView from_dlpack(DLManagedTensorVersioned* tensor,
                                                   StreamHandle const& ready_in = {}) {
    return BasicBufferView(detail::import_dlpack(tensor, ready_in));
  }
  [[nodiscard]] static BasicBufferView from_dlpack(DLManagedTensor* tensor, StreamHandle const& ready_in = {}) {
    return BasicBufferView(detail::import_dlpack(tensor, ready_in));
  }
  /// Views host memory. The last view drops `owner`, on any thread. Without `strides` (in bytes): dense in C order.
  /// Throws `BufferError` (misaligned; beyond the address space).
  template <class T>
    requires(Element<std::remove_const_t<T>> && (!is_writable || !std::is_const_v<T>))
  [[nodiscard]] static BasicBufferView from_memory(T* data, ListOf<std::int64_t> shape,
                                                   std::shared_ptr<void const> owner,
                                                   ListOf<std::int64_t> strides = {}) {
    return BasicBufferView(detail::import_owned(const_cast<std::remove_const_t<T>*>(data),
                                                dtype_of<std::remove_const_t<T>>(), shape, strides, is_writable,
                                                std::move(owner)));
  }
  BasicBufferView(BasicBufferView<std::byte> const& other)  // NOLINT(google-explicit-constructor)
    requires(!is_writable)
      : BasicBufferView(other.core()) {}

  [[nodiscard]] bool is_open() const noexcept { return _core.is_open(); }
  /// Releases the memory. Views made from this one keep it alive.
  void close() noexcept { _core.close(); }

  /// Returns the address of the element at indices 0.
  [[nodiscard]] Byte* data() const { return _core.data(); }
  [[nodiscard]] DType const& dtype() const noexcept { return _core.dtype(); }
  [[nodiscard]] StridedLayout const& layout() const noexcept { return _core.layout(); }
  [[nodiscard]] Extents shape() const noexcept { return layout().shape(); }
  [[nodiscard]] Extents strides() const noexcept { return layout().strides(); }
  [[nodiscard]] int ndim() const noexcept { return layout().ndim(); }
  [[nodiscard]] std::int64_t size() const noexcept { return layout().size(); }
  [[nodiscard]] Device device() const { return _core.device(); }
  [[nodiscard]] MemoryType memory_type() const { return _core.memory_type(); }
  [[nodiscard]] static constexpr bool writable() noexcept { return is_writable; }
  /// True if dense in C order.
  [[nodiscard]] bool is_contiguous() const noexcept { return _core.is_contiguous(); }
  /// True if dense in Fortran order.
  [[nodiscard]] bool is_fortran_contiguous() const noexcept { return _core.is_fortran_contiguous(); }

  /// Return views. Throw like `StridedLayout`'s functions.
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
  /// Throws `ValueError` if that needs a copy.
  [[nodiscard]] BasicBufferView reshape(ListOf<std::int64_t> shape) const {
    return BasicBufferView(_core.reshaped(shape));
  }
  /// Returns a read-only view, as indices share elements. Throws `OverflowError` (bytes beyond 64 bits).
  [[nodiscard]] ConstBufferView broadcast_to(ListOf<std::int64_t> shape) const {
    return ConstBufferView(_core.broadcast_to(shape));
  }

  /// Throws like the constructor of `ArrayView`.
  template <class T, int n, ViewOptions options = ViewOptions::none>
    requires(is_writable || std::is_const_v<T>)
  [[nodiscard]] ArrayView<T, n, options> as() const {
    return ArrayView<T, n, options>(_core);
  }

  /// Returns this view if its memory is on `device`, else a reported dense copy. Unified memory that both may use at
  /// once is viewed instead, on the host after a reported wait.
  ///
  /// Copies run in `stream`, of either device: by default the view's own or, from the host, the device's default
  /// stream. From or to the host they block. Throws `ValueError` (neither CPU nor CUDA; another device's stream),
  /// `OutOfMemoryError`.
  [[nodiscard]] BasicBufferView to_device(Device device) const { return BasicBufferView(_core.to_device(device)); }
  [[nodiscard]] BasicBufferView to_device(Device device, StreamChoice const& stream) const {
    return BasicBufferView(_core.to_device(device, &stream));
  }
  [[nodiscard]] BufferView copy() const { return BufferView(_core.copy()); }
  /// Returns this view if contiguous, else a reported copy.
  [[nodiscard]] BasicBufferView ensure_contiguous() const { return BasicBufferView(_core.ensure_contiguous()); }
  /// Returns a reported copy, converted by NumPy's `same_kind` rule. Throws `TypeError`.
  [[nodiscard]] BufferView cast(DType const& dtype) const { return BufferView(_core.cast(dtype)); }

  /// Describes the loops of "sum", "mean", "min", "max" (over `axes`), "copy", "cast" (to elements of 8 bytes), "fill"
  /// or "add_index". Throws `ValueError` for others.
  [[nodiscard]] std::string plan(std::string_view operation, ListOf<int> axes = {}) const {
    _core.check_open();
    return to_string(detail::plan(operation, dtype(), layout(), mask_of(axes)));
  }
  /// Exports a DLPack tensor, read-only if the view is. Throws `BufferError` (no DLPack dtype; strides negative or of
  /// partial elements; read-only in the unversioned struct).
  [[nodiscard]] DLPackTensor get_dlpack_tensor(bool versioned = true) const {
    return versioned ? DLPackTensor(detail::export_versioned(_core)) : DLPackTensor(detail::export_unversioned(_core));
  }

  /// Reduce over `axes` (negative: from the end), or over all. Integers are summed in 64 bits, floats in double
  /// precision. Throw `IndexError` (no such axis), `ValueError` (a repeated axis; min or max of no elements),
  /// `TypeError` (structs).
  [[nodiscard]] BufferView sum(ListOf<int> axes = {}) const { return reduced(detail::Reduction::sum, axes); }
  [[nodiscard]] BufferView mean(ListOf<int> axes = {}) const { return reduced(detail::Reduction::mean, axes); }
  [[nodiscard]] BufferView min(ListOf<int> axes = {}) const { return reduced(detail::Reduction::min, axes); }
  [[nodiscard]] BufferView max(ListOf<int> axes = {}) const { return reduced(detail::Reduction::max, axes); }

  /// Sets every element. Throws `TypeError` unless the elements are T, `ValueError` if they overlap.
  template <class T>
    requires(is_writable && Element<T>)
  void fill(T const& value) const {
    detail::check_element(_core, dtype_of<T>());
    _core.fill(&value);
  }
  /// Adds to each element the sum of its indices. Throws `TypeError` (structs), `ValueError` if they overlap.
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
