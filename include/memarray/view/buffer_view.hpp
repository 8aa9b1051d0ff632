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

/// The values of an argument, in a container or in braces: `view.reshape({2, -1})`. For parameters only: it keeps no
/// values, and those in braces are gone after the call.
template <class T>
class ListOf : public std::span<T const> {
 public:
  using std::span<T const>::span;
  constexpr ListOf() noexcept = default;
  constexpr ListOf(std::span<T const> values) noexcept : std::span<T const>(values) {}
  constexpr ListOf(std::initializer_list<T> values) noexcept : std::span<T const>(values.begin(), values.size()) {}
};

/// Seed 004. Functions that say "view" share the memory; copies are asked for by name, and reported. A view of an array
/// counts as an export of it, so what the array does with views that outlive their lease is its policy for escaped
/// views. All throw `ValueError` on a closed view.
///
/// A view of device memory is used in the stream of its lease: operations are work there, ordered among the memory's
/// other users, and may end after their call.
template <class Byte>
class BasicBufferView {
 public:
  static constexpr bool is_writable = !std::is_const_v<Byte>;
  using Extents = StridedLayout::Extents;

  /// A closed view.
  BasicBufferView() noexcept = default;
  BasicBufferView(BasicBufferView const&) = default;
  BasicBufferView(BasicBufferView&&) noexcept = default;
  BasicBufferView& operator=(BasicBufferView const&) = default;
  BasicBufferView& operator=(BasicBufferView&&) noexcept = default;
  ~BasicBufferView() = default;
  /// Throws `BufferError` if this is to be writable and the memory is not.
  explicit BasicBufferView(detail::ViewCore core) : _core(std::move(core)) {
    if (!_core.is_open()) return;
    if constexpr (is_writable)
      _core.check_writable("a BufferView");
    else if (_core.writable())
      _core = _core.read_only();
  }
  /// What an open lease lends. Throws `LockError`, `BufferError`.
  template <class T, int ndim>
  explicit BasicBufferView(WriteLease<T, ndim> const& lease)
      : _core(lease.state(), lease.block(), is_writable, lease.lent()) {}
  template <class T, int ndim>
    requires(!is_writable)
  explicit BasicBufferView(ReadLease<T, ndim> const& lease)
      : _core(lease.state(), lease.block(), false, lease.lent()) {}
  /// Another library's tensor, which is taken over: its deleter is called once, when the last view of it is gone, on
  /// whatever thread, or before this throws. On a device it is used in the default stream, after what there is now in
  /// `ready_in` (null: in the default stream); managed memory is waited for. Throws `BufferError` for a tensor that
  /// lies, a dtype or device that is not known, and memory that is read-only where this is to be writable; `CudaError`;
  /// `ValueError` for a stream of another device.
  [[nodiscard]] static BasicBufferView from_dlpack(DLManagedTensorVersioned* tensor,
                                                   StreamHandle const& ready_in = {}) {
    return BasicBufferView(detail::import_dlpack(tensor, ready_in));
  }
  [[nodiscard]] static BasicBufferView from_dlpack(DLManagedTensor* tensor, StreamHandle const& ready_in = {}) {
    return BasicBufferView(detail::import_dlpack(tensor, ready_in));
  }
  /// The host's memory of whoever has it, kept alive by `owner`, which is let go of with the last view, on whatever
  /// thread. Strides in bytes; none: dense in C order. Throws `BufferError` for a layout that leads out of memory, and
  /// elements that are not aligned.
  template <class T>
    requires(Element<std::remove_const_t<T>> && (!is_writable || !std::is_const_v<T>))
  [[nodiscard]] static BasicBufferView from_memory(T* data, ListOf<std::int64_t> shape,
                                                   std::shared_ptr<void const> owner,
                                                   ListOf<std::int64_t> strides = {}) {
    return BasicBufferView(detail::import_owned(const_cast<std::remove_const_t<T>*>(data),
                                                dtype_of<std::remove_const_t<T>>(), shape, strides, is_writable,
                                                std::move(owner)));
  }
  /// Any view can be looked at.
  BasicBufferView(BasicBufferView<std::byte> const& other)  // NOLINT(google-explicit-constructor)
    requires(!is_writable)
      : BasicBufferView(other.core()) {}

  [[nodiscard]] bool is_open() const noexcept { return _core.is_open(); }
  /// Lets go of the memory now; views made of it keep it. Harmless twice.
  void close() noexcept { _core.close(); }

  /// The element whose indices are all 0.
  [[nodiscard]] Byte* data() const { return _core.data(); }
  [[nodiscard]] DType const& dtype() const noexcept { return _core.dtype(); }
  [[nodiscard]] StridedLayout const& layout() const noexcept { return _core.layout(); }
  [[nodiscard]] Extents shape() const noexcept { return layout().shape(); }
  /// In bytes.
  [[nodiscard]] Extents strides() const noexcept { return layout().strides(); }
  [[nodiscard]] int ndim() const noexcept { return layout().ndim(); }
  [[nodiscard]] std::int64_t size() const noexcept { return layout().size(); }
  [[nodiscard]] Device device() const { return _core.device(); }
  [[nodiscard]] MemoryType memory_type() const { return _core.memory_type(); }
  [[nodiscard]] static constexpr bool writable() noexcept { return is_writable; }
  /// Whether it is dense in C order.
  [[nodiscard]] bool is_contiguous() const noexcept { return _core.is_contiguous(); }

  /// Views of some elements; errors as `StridedLayout` has them.
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
  /// The same elements in C order under another shape. Throws `ValueError` where that takes a copy.
  [[nodiscard]] BasicBufferView reshape(ListOf<std::int64_t> shape) const {
    return BasicBufferView(_core.reshaped(shape));
  }
  /// One element at many indices, so for looking only.
  [[nodiscard]] ConstBufferView broadcast_to(ListOf<std::int64_t> shape) const {
    return ConstBufferView(_core.broadcast_to(shape));
  }

  /// With the types that the caller knows it has. Throws `TypeError` for others, `BufferError` for another place.
  template <class T, int n, ViewOptions options = ViewOptions::none>
    requires(is_writable || std::is_const_v<T>)
  [[nodiscard]] ArrayView<T, n, options> as() const {
    return ArrayView<T, n, options>(_core);
  }

  /// The same elements on another device, or on the host: this view where they are there, else a copy. In `stream`, of
  /// either device; by default the view's own. From the host it returns when the memory was read, to the host when it
  /// is there. Throws `ValueError`, `CudaError`, `OutOfMemoryError`.
  [[nodiscard]] BasicBufferView to_device(Device device) const { return BasicBufferView(_core.to_device(device)); }
  [[nodiscard]] BasicBufferView to_device(Device device, StreamChoice const& stream) const {
    return BasicBufferView(_core.to_device(device, &stream));
  }
  [[nodiscard]] BufferView copy() const { return BufferView(_core.copy()); }
  /// This view where it is dense in C order, else a copy.
  [[nodiscard]] BasicBufferView ensure_contiguous() const { return BasicBufferView(_core.ensure_contiguous()); }
  /// A copy with another dtype, within a kind of number. Throws `TypeError`.
  [[nodiscard]] BufferView cast(DType const& dtype) const { return BufferView(_core.cast(dtype)); }

  /// The loops that an operation would run, in words, and over which axes where it is a reduction: "sum", "mean",
  /// "min", "max", "copy", "cast" (to elements of 8 bytes), "fill" or "add_index". Throws `ValueError` for any other.
  [[nodiscard]] std::string plan(std::string_view operation, ListOf<int> axes = {}) const {
    _core.check_open();
    return to_string(detail::plan(operation, dtype(), layout(), mask_of(axes)));
  }
  /// Lends the memory on, to read only if the view is, as `__dlpack__` of Python's views does. Throws `ValueError`
  /// (closed), `BufferError` (dtype or strides that DLPack or its consumers lack; read-only memory to the unversioned
  /// struct), `CudaError`.
  [[nodiscard]] DLPackTensor get_dlpack_tensor(bool versioned = true) const {
    return versioned ? DLPackTensor(detail::lend_versioned(_core)) : DLPackTensor(detail::lend_unversioned(_core));
  }

  /// Reductions over some axes, below zero from the end, or over all: new memory with the other dimensions. Integers
  /// are summed in 64 bits; floating-point numbers in double precision, rounded once. Throw `IndexError`, `ValueError`
  /// (an axis twice; the least or largest of nothing), `TypeError` for structs.
  [[nodiscard]] BufferView sum(ListOf<int> axes = {}) const { return reduced(detail::Reduction::sum, axes); }
  [[nodiscard]] BufferView mean(ListOf<int> axes = {}) const { return reduced(detail::Reduction::mean, axes); }
  [[nodiscard]] BufferView min(ListOf<int> axes = {}) const { return reduced(detail::Reduction::min, axes); }
  [[nodiscard]] BufferView max(ListOf<int> axes = {}) const { return reduced(detail::Reduction::max, axes); }

  /// Sets every element. Throws `TypeError` unless T is the view's element type.
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
