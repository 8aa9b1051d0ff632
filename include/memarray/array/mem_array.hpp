#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/state/array_operations.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/state/element_access.hpp>
#include <memarray/detail/view/adopt.hpp>
#include <memarray/detail/view/copy_from.hpp>
#include <memarray/state/lease.hpp>
#include <memarray/view/buffer_view.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <dlpack/dlpack.h>

#include <cuda/std/array>
#include <cuda/std/mdspan>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace memarray {

/// A dense, C-ordered array that C++ owns and consumers share.
///
/// Points to a state that leases and Python objects share; move and swap exchange states. A moved-from array throws
/// `Error`.
///
/// `lock_id`: the id of the caller's write lease, or −1. Conflicts, with leases or with live views under the policy
/// `error`, throw `LockError`. By default, escaped views keep the old contents. Whole-array operations hold the lock.
/// Element access, `ptr`, indexers and mdspans only check it: hold a lease if other threads may lease the array. Device
/// work throws `CudaError`, allocation `OutOfMemoryError`. A failed call changes nothing.
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

  /// Allocates host memory, every element `T()`. `device_id`: the default device for moves. Throws `ValueError`
  /// (negative), `OverflowError`.
  template <std::size_t rank>
  explicit MemArray(Index const (&shape)[rank], int device_id = 0, ArrayOptions const& options = {})
      : MemArray(to_shape(shape), device_id, options) {}
  template <detail::IndexList<ndim> A>
  explicit MemArray(A const& shape, int device_id = 0, ArrayOptions const& options = {})
      : _state(detail::ArrayState::make(dtype_of<T>(), detail::Extents(to_shape(shape)), device_id, options)) {}

  /// Makes a deep, unlocked copy.
  MemArray(MemArray const& other) : _state(detail::clone(other.state())) {}
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

  /// Exchanges states: leases and Python objects follow their contents.
  void swap(MemArray& other) noexcept { std::swap(_state, other._state); }
  friend void swap(MemArray& left, MemArray& right) noexcept { left.swap(right); }
  /// Exchanges contents and shapes: Python objects keep their array. Throws `LockError` under any lease of either.
  void exchange(MemArray& other) { detail::exchange(state(), other.state()); }

  /// Returns the extents, valid until `resize` or `exchange`.
  [[nodiscard]] Shape const& get_shape() const {
    // Contiguous, as in a `std::array`.
    return *reinterpret_cast<Shape const*>(state().shape());
  }
  [[nodiscard]] std::int64_t get_size() const { return state().size(); }
  [[nodiscard]] std::int64_t size() const { return state().size(); }
  [[nodiscard]] int get_device_id() const { return state().residency().device_id(); }
  /// True if the current side is on a device.
  [[nodiscard]] bool get_on_device() const { return state().residency().on_device(); }
  /// Returns the writer's lock id, or −1.
  [[nodiscard]] std::int64_t get_lock_id() const { return state().lock().lock_id(); }
  [[nodiscard]] EscapedViews escaped_views() const { return state().escaped_views(); }
  void escaped_views(EscapedViews policy) { state().set_escaped_views(policy); }

  /// Throws `LockError` unless a write under `lock_id` would succeed now.
  void throw_invalid_lock_access(std::int64_t lock_id) const { detail::check_write(state(), lock_id, "this access"); }

  /// Returns one element, from a device by a blocking copy. Throws `IndexError`, in every build.
  template <detail::IndexList<ndim> A>
  [[nodiscard]] T operator()(A const& indices, std::int64_t lock_id = -1) const {
    if (state().residency().on_device()) [[unlikely]] {
      T value;
      detail::read_element(state(), linear(indices), &value, lock_id);
      return value;
    }
    return detail::elements_at<T const>(detail::checked_read(state(), lock_id, "reading an element"))[linear(indices)];
  }
  template <std::size_t rank>
  [[nodiscard]] T operator()(Index const (&indices)[rank], std::int64_t lock_id = -1) const {
    return (*this)(to_shape(indices), lock_id);
  }
  /// Sets one element. Throws like `operator()`.
  template <detail::IndexList<ndim> A>
  void write(A const& indices, T const& value, std::int64_t lock_id = -1) {
    std::int64_t const at = linear(indices);
    if (state().residency().on_device()) [[unlikely]]
      return detail::write_element(state(), at, &value, lock_id);
    detail::elements_at<T>(detail::checked_write(state(), lock_id, "writing an element"))[at] = value;
  }
  template <std::size_t rank>
  void write(Index const (&indices)[rank], T const& value, std::int64_t lock_id = -1) {
    write(to_shape(indices), value, lock_id);
  }

  /// Sets every element, on a device in the default stream.
  void fill(T const& value, std::int64_t lock_id = -1) { detail::fill(state(), &value, lock_id); }

  /// Copies a view of any strides, owner and device, by NumPy's `same_kind` rule: integers wrap, floats round. Reports
  /// intermediate copies. Throws `ValueError` (closed; another shape), `TypeError` (another kind).
  void copy_from(ConstBufferView const& source, std::int64_t lock_id = -1) {
    detail::copy_from(state(), source.core(), lock_id);
  }
  template <class E, int n, ViewOptions options>
  void copy_from(ArrayView<E, n, options> const& source, std::int64_t lock_id = -1) {
    detail::copy_from(state(), source.core(), lock_id);
  }

  /// Returns the current side's memory; blocks until pending work completes. Non-const, makes the other side stale.
  [[nodiscard]] T* ptr(std::int64_t lock_id = -1) {
    return detail::elements_at<T>(detail::checked_write(state(), lock_id, "ptr"));
  }
  [[nodiscard]] T const* ptr(std::int64_t lock_id = -1) const {
    return detail::elements_at<T const>(detail::checked_read(state(), lock_id, "ptr"));
  }
  [[nodiscard]] ArrayIndexer get_indexer(std::int64_t lock_id = -1) {
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }
  [[nodiscard]] ConstArrayIndexer get_indexer(std::int64_t lock_id = -1) const {
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }
  /// Returns `ptr` as an mdspan. Throws `Error` on a device.
  [[nodiscard]] View<T> host_view(std::int64_t lock_id = -1) {
    detail::check_side(state(), detail::Side::host);
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }
  [[nodiscard]] View<T const> host_view(std::int64_t lock_id = -1) const {
    detail::check_side(state(), detail::Side::host);
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }
  /// Returns `ptr` as an mdspan for kernels. Throws `Error` on the host.
  [[nodiscard]] View<T> device_view(std::int64_t lock_id = -1) {
    detail::check_side(state(), detail::Side::device);
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }
  [[nodiscard]] View<T const> device_view(std::int64_t lock_id = -1) const {
    detail::check_side(state(), detail::Side::device);
    return {ptr(lock_id), detail::to_indices<std::int64_t, ndim>(get_shape())};
  }

  /// Reallocates: leading elements stay, in linear order, others are `T()`. Throws `LockError` under any lease.
  template <detail::IndexList<ndim> A>
  void resize(A const& shape) {
    detail::resize(state(), detail::Extents(to_shape(shape)));
  }
  template <std::size_t rank>
  void resize(Index const (&shape)[rank]) {
    resize(to_shape(shape));
  }

  /// Makes that device's side current. If it is stale, copies to it in the order of `stream`: a CUDA stream of either
  /// device (0: default), alive until the copy completes. `async`: may return earlier; the next user waits. Throws
  /// `LockError` under any lease, `ValueError` (invalid device or stream).
  void move_memory(DLDeviceType device_type, std::int64_t stream, int device_id, std::int64_t lock_id = -1,
                   bool async = true) {
    detail::move_to(state(), {device_type, device_id}, lock_id, StreamChoice::numbered(stream), async);
  }

  /// Opens a write lease with an id of 0 to 2^62 − 1, else throws `ValueError`.
  void enter(std::int64_t lock_id) { detail::enter(state(), lock_id); }
  /// Closes only a lease of `enter`.
  void exit() noexcept {
    if (_state) detail::leave(*_state);
  }

  /// Exports a writable tensor under an open write lease; with −1 a read-only, versioned snapshot. Throws
  /// `BufferError`.
  [[nodiscard]] DLPackTensor get_dlpack_tensor(bool versioned, std::int64_t lock_id = -1) {
    return detail::export_under(state(), versioned, lock_id);
  }
  /// Makes an array over a view's memory. Other owners may use that at any time, and keep it if the array moves to
  /// fresh memory. Device work is ordered among all uses through memarray. Throws `TypeError` (dtype, rank),
  /// `BufferError` (not C-ordered; bools other than 0 and 1), `ValueError` (closed).
  [[nodiscard]] static MemArray adopt(BufferView const& view) {
    view.core().check_is(dtype_of<T>(), ndim);
    return share(detail::adopt(view.core()));
  }
  /// True if another owner may use the memory at any time.
  [[nodiscard]] bool is_foreign() const { return state().residency().is_foreign(); }

  /// Returns a read-only view that has escaped its read lease: by default a snapshot. Throws `ValueError` above 16
  /// dimensions.
  [[nodiscard]] ConstBufferView view() const { return ConstBufferView(detail::view_of(state())); }
  [[nodiscard]] std::pair<DLDeviceType, std::int32_t> get_dlpack_device() const {
    Device const device = state().residency().exported_device();
    return {device.type, device.id};
  }

  [[nodiscard]] detail::ArrayState& state() const {
    if (!_state) detail::throw_moved_from();
    return *_state;
  }
  [[nodiscard]] detail::ArrayStatePtr const& state_ptr() const noexcept { return _state; }
  [[nodiscard]] detail::ArrayStatePtr take_state() {
    static_cast<void>(state());
    return std::move(_state);
  }
  /// Wraps a state of this dtype and rank.
  [[nodiscard]] static MemArray share(detail::ArrayStatePtr state) noexcept {
    return MemArray(Shared(), std::move(state));
  }

 private:
  // A tag: without it, `{0}` could be a shape or an `ArrayStatePtr`.
  struct Shared {};
  MemArray(Shared, detail::ArrayStatePtr state) noexcept : _state(std::move(state)) {}

  template <class A>
  [[nodiscard]] static Shape to_shape(A const& list) {
    Shape shape{};
    for (int d = 0; d < ndim; ++d) {
      shape[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(list[static_cast<std::size_t>(d)]);
    }
    return shape;
  }

  // A braced list: integers of any types.
  template <std::size_t rank>
  [[nodiscard]] static Shape to_shape(Index const (&list)[rank]) {
    static_assert(rank == static_cast<std::size_t>(ndim), "a list names one integer for each dimension of the array");
    return detail::to_extents(list);
  }

  template <class A>
  [[nodiscard]] std::int64_t linear(A const& indices) const {
    std::int64_t const* const extents = state().shape();
    std::int64_t at = 0;
    for (int d = 0; d < ndim; ++d) {
      auto const index = static_cast<std::int64_t>(indices[static_cast<std::size_t>(d)]);
      if (index < 0 || index >= extents[d]) detail::throw_out_of_bounds(state(), d, index);
      at = at * extents[d] + index;
    }
    return at;
  }

  detail::ArrayStatePtr _state;
};

}  // namespace memarray
