#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/state/state.hpp>
#include <memarray/detail/view/adopt.hpp>
#include <memarray/detail/view/copy_from.hpp>
#include <memarray/state/lease.hpp>
#include <memarray/view/buffer_view.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <dlpack/dlpack.h>

#include <cuda/std/array>
#include <cuda/std/mdspan>

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace memarray {

/// A dense, C-ordered, n-dimensional array that C++ owns and others borrow.
///
/// It is a pointer to a shared state, which leases and Python objects hold too: moving and swapping exchange states, so
/// that an open lease follows its contents; destroying or assigning over a leased array lets go of its state,
/// and the lease stays good. Every function that touches elements respects the array's lock: `lock_id` is −1, or the
/// id of the write lease that the caller holds. Whole-array operations hold the lock while they run; element access,
/// `ptr`, indexers and views only check it, so a thread that uses them while others may lease holds a lease itself.
/// Errors leave the array as it was. Using an array that was moved from throws `Error`.
template <class T, int ndim>
class MemArray {
  static_assert(ndim >= 1, "a MemArray has at least one dimension");
  static_assert(std::is_trivially_copyable_v<T>, "elements of a MemArray are trivially copyable");
  static_assert(!std::is_const_v<T>, "a MemArray owns its elements: use const MemArray or a ReadLease to protect them");

 public:
  static constexpr int NDIM = ndim;
  using value_type = T;
  using Shape = std::array<std::int64_t, static_cast<std::size_t>(ndim)>;
  using ArrayIndexer = memarray::ArrayIndexer<T, ndim>;
  using ConstArrayIndexer = memarray::ArrayIndexer<T const, ndim>;
  template <class E>
  using View = cuda::std::mdspan<E, cuda::std::dextents<std::int64_t, static_cast<std::size_t>(ndim)>>;

  /// New host memory of `shape` (64-bit extents, 0 allowed), every element `T()`. `device_id`: the CUDA device that it
  /// belongs to when it is moved to one. Throws `ValueError`, `OverflowError`, `OutOfMemoryError`.
  explicit MemArray(Shape const& shape, int device_id = 0, ArrayOptions const& options = {})
      : _state(detail::State::make(dtype_of<T>(), detail::Extents(shape), device_id, options)) {}
  template <class A>
    requires(detail::IndexList<A, ndim> && !std::same_as<A, Shape>)
  explicit MemArray(A const& shape, int device_id = 0, ArrayOptions const& options = {})
      : MemArray(to_shape(shape), device_id, options) {}

  /// A deep copy, under the source's read lock; born unlocked. Throws `LockError` while it is held for writing.
  MemArray(MemArray const& other) : _state(other.state().clone()) {}
  MemArray& operator=(MemArray const& other) {
    if (this != &other) MemArray(other).swap(*this);
    return *this;
  }
  MemArray(MemArray&&) noexcept = default;
  MemArray& operator=(MemArray&& other) noexcept {
    MemArray(std::move(other)).swap(*this);
    return *this;
  }
  ~MemArray() = default;

  /// Exchanges the states: leases and Python objects follow their contents to the other array.
  void swap(MemArray& other) noexcept { std::swap(_state, other._state); }
  friend void swap(MemArray& left, MemArray& right) noexcept { left.swap(right); }
  /// Swaps contents (and shape) between the states: Python objects and names stay with their array. Holds both for
  /// writing; throws `LockError` when either is held, or has live views under the policy "error".
  void exchange(MemArray& other) { state().exchange(other.state()); }

  /// Changes in `resize` and `exchange`: do not keep the reference across those.
  [[nodiscard]] Shape const& get_shape() const {
    // The state keeps `ndim` extents in a row, which is what a std::array is.
    return *reinterpret_cast<Shape const*>(state().shape());
  }
  [[nodiscard]] std::int64_t get_size() const { return state().size(); }
  /// Number of elements, under the name that containers have for it.
  [[nodiscard]] std::int64_t size() const { return state().size(); }
  [[nodiscard]] int get_device_id() const { return state().device_id(); }
  /// Whether the current side is on a device.
  [[nodiscard]] bool get_on_device() const { return state().on_device(); }
  /// The id that the array is held for writing under; −1 when free or only read.
  [[nodiscard]] std::int64_t get_lock_id() const { return state().lock_id(); }
  [[nodiscard]] EscapedViews escaped_views() const { return state().escaped_views(); }
  void escaped_views(EscapedViews policy) { state().set_escaped_views(policy); }

  /// Throws `LockError` unless a write under `lock_id` would pass now.
  void throw_invalid_lock_access(std::int64_t lock_id) const { state().check_write(lock_id, "this access"); }

  /// One element, wherever the array is: on a device it is moved alone, and the call returns when it has been. Checks
  /// lock and bounds in every build: `LockError`, `IndexError`; `CudaError`.
  [[nodiscard]] T operator()(Shape const& indices, std::int64_t lock_id = -1) const {
    if (state().on_device()) [[unlikely]] {
      T value;
      state().read_element(linear(indices), &value, lock_id);
      return value;
    }
    return detail::elements_at<T const>(state().checked_read(lock_id, "reading an element"))[linear(indices)];
  }
  template <class A>
    requires(detail::IndexList<A, ndim> && !std::same_as<A, Shape>)
  [[nodiscard]] T operator()(A const& indices, std::int64_t lock_id = -1) const {
    return (*this)(to_shape(indices), lock_id);
  }
  void write(Shape const& indices, T const& value, std::int64_t lock_id = -1) {
    std::int64_t const at = linear(indices);
    if (state().on_device()) [[unlikely]]
      return state().write_element(at, &value, lock_id);
    detail::elements_at<T>(state().checked_write(lock_id, "writing an element"))[at] = value;
  }
  template <class A>
    requires(detail::IndexList<A, ndim> && !std::same_as<A, Shape>)
  void write(A const& indices, T const& value, std::int64_t lock_id = -1) {
    write(to_shape(indices), value, lock_id);
  }

  /// Sets every element. Views that were kept keep the old contents; nothing is copied.
  void fill(T const& value, std::int64_t lock_id = -1) { state().fill(&value, lock_id); }

  /// Replaces all contents by those of `source`, as Python's `read_numpy_array` does: the same shape, any strides and
  /// owner, on the host or on any device, any dtype of the same kind ('same_kind': integers wrap, floats round). The
  /// array stays where it is; a source elsewhere is brought there first, which is reported. Views that were kept keep
  /// the old contents. Throws `ValueError` (another shape; a closed view), `TypeError` (another kind of number),
  /// `LockError`, `CudaError`, `OutOfMemoryError`; the array is then as it was.
  void copy_from(ConstBufferView const& source, std::int64_t lock_id = -1) {
    detail::copy_from(state(), source.core(), lock_id);
  }
  template <class E, int n, ViewOptions options>
  void copy_from(ArrayView<E, n, options> const& source, std::int64_t lock_id = -1) {
    detail::copy_from(state(), source.core(), lock_id);
  }

  /// The current side's memory: const looks, non-const makes the other side stale. Checked now, not later.
  [[nodiscard]] T* ptr(std::int64_t lock_id = -1) {
    return detail::elements_at<T>(state().checked_write(lock_id, "ptr"));
  }
  [[nodiscard]] T const* ptr(std::int64_t lock_id = -1) const {
    return detail::elements_at<T const>(state().checked_read(lock_id, "ptr"));
  }
  [[nodiscard]] ArrayIndexer get_indexer(std::int64_t lock_id = -1) {
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }
  [[nodiscard]] ConstArrayIndexer get_indexer(std::int64_t lock_id = -1) const {
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }
  /// The array as an mdspan of the host's memory. Throws `Error` when it is on a device.
  [[nodiscard]] View<T> host_view(std::int64_t lock_id = -1) {
    state().check_side(detail::Side::host);
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }
  [[nodiscard]] View<T const> host_view(std::int64_t lock_id = -1) const {
    state().check_side(detail::Side::host);
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }
  /// The array as an mdspan of its device's memory, for kernels. Throws `Error` when it is on the host.
  [[nodiscard]] View<T> device_view(std::int64_t lock_id = -1) {
    state().check_side(detail::Side::device);
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }
  [[nodiscard]] View<T const> device_view(std::int64_t lock_id = -1) const {
    state().check_side(detail::Side::device);
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }

  /// Fresh memory; the leading elements stay, in linear order, the others are `T()`. Refused under any lease.
  void resize(Shape const& shape) { state().resize(detail::Extents(shape)); }
  template <class A>
    requires(detail::IndexList<A, ndim> && !std::same_as<A, Shape>)
  void resize(A const& shape) {
    resize(to_shape(shape));
  }

  /// Makes the copy on that device current: copies, in the order of `stream`, if it is stale. Refused under any lease,
  /// whatever `lock_id`. `async`: the copy may go on when the call returns; whoever uses the array next waits for it.
  /// `stream`: a CUDA stream of either device as an integer, 0 the default, which lives until the copy is over. Throws
  /// `CudaError` (a device that is not there, what the driver says), `OutOfMemoryError`, `ValueError` for what is no
  /// device or no stream.
  void move_memory(DLDeviceType device_type, std::int64_t stream, int device_id, std::int64_t lock_id = -1,
                   bool async = true) {
    state().move({device_type, device_id}, lock_id, StreamChoice::numbered(stream), async);
  }

  /// Takes a write lease under an id of the caller's, from 0 to 2^62 − 1. Throws `LockError` while anybody holds the
  /// array.
  void enter(std::int64_t lock_id) { state().enter(lock_id); }
  /// Ends what `enter` began, and only that.
  void exit() noexcept {
    if (_state) _state->leave();
  }

  /// Lends the array over DLPack: writable under the id of an open write lease; with −1 read-only, a snapshot, and only
  /// as the versioned struct. Throws `LockError`, `BufferError`.
  [[nodiscard]] DLPackTensor get_dlpack_tensor(bool versioned, std::int64_t lock_id = -1) {
    return detail::lend_under(state(), versioned, lock_id);
  }
  /// An array over the memory of a view, which it keeps, on the host or on a device; nothing is copied. Throws
  /// `TypeError` (another dtype or rank), `BufferError` (read-only, not dense in C order), `ValueError` (closed).
  [[nodiscard]] static MemArray adopt(BufferView const& view) {
    view.core().check_is(dtype_of<T>(), ndim);
    return share(detail::adopt(view.core()));
  }
  /// Whether the memory is another owner's, who may use it at any time.
  [[nodiscard]] bool is_foreign() const { return state().is_foreign(); }

  /// A read-only view, through a read lease that closes at once: a snapshot, under the default policy. Throws
  /// `LockError`, `BufferError` (memory that the host does not reach).
  [[nodiscard]] ConstBufferView view() const { return ConstBufferView(detail::view_of(state())); }
  [[nodiscard]] std::pair<DLDeviceType, std::int32_t> get_dlpack_device() const {
    Device const device = state().lent_device();
    return {device.type, device.id};
  }

  /// The shared state, for the layers above; `share` is another array object with it.
  [[nodiscard]] detail::State& state() const {
    if (!_state) detail::throw_moved_from();
    return *_state;
  }
  [[nodiscard]] detail::StatePtr const& state_ptr() const noexcept { return _state; }
  /// The state, handed over: this array is moved from then.
  [[nodiscard]] detail::StatePtr take_state() {
    static_cast<void>(state());
    return std::move(_state);
  }
  /// `state` is of this dtype and rank.
  [[nodiscard]] static MemArray share(detail::StatePtr state) noexcept { return MemArray(Shared(), std::move(state)); }

 private:
  // Not from a StatePtr alone, which a braced 0 could be, too.
  struct Shared {};
  MemArray(Shared, detail::StatePtr state) noexcept : _state(std::move(state)) {}

  template <class A>
  [[nodiscard]] static Shape to_shape(A const& list) {
    Shape shape{};
    for (int d = 0; d < ndim; ++d) {
      shape[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(list[static_cast<std::size_t>(d)]);
    }
    return shape;
  }

  [[nodiscard]] std::int64_t linear(Shape const& indices) const {
    std::int64_t const* const extents = state().shape();
    std::int64_t at = 0;
    for (int d = 0; d < ndim; ++d) {
      std::int64_t const index = indices[static_cast<std::size_t>(d)];
      if (index < 0 || index >= extents[d]) detail::throw_out_of_bounds(state(), d, index);
      at = at * extents[d] + index;
    }
    return at;
  }

  detail::StatePtr _state;
};

}  // namespace memarray
