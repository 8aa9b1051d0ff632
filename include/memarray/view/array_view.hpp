#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <cuda/std/mdspan>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace memarray {

/// Properties of a view's memory. None: host memory with any strides.
enum class ViewOptions : std::uint8_t {
  none = 0,
  c_order = 1,    ///< dense, the last index varies fastest
  f_order = 2,    ///< dense, the first index varies fastest
  on_device = 4,  ///< device memory
};
inline constexpr ViewOptions c_order = ViewOptions::c_order;
inline constexpr ViewOptions f_order = ViewOptions::f_order;
inline constexpr ViewOptions on_device = ViewOptions::on_device;

[[nodiscard]] constexpr ViewOptions operator|(ViewOptions left, ViewOptions right) noexcept {
  return static_cast<ViewOptions>(static_cast<unsigned>(left) | static_cast<unsigned>(right));
}
/// True if `options` has every one of `wanted`.
[[nodiscard]] constexpr bool includes(ViewOptions options, ViewOptions wanted) noexcept {
  return (static_cast<unsigned>(options) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

namespace detail {

/// Exchanges C and Fortran order.
[[nodiscard]] constexpr ViewOptions reversed(ViewOptions options) noexcept {
  ViewOptions result = includes(options, on_device) ? on_device : ViewOptions::none;
  if (includes(options, c_order)) result = result | f_order;
  if (includes(options, f_order)) result = result | c_order;
  return result;
}

/// Throws like `ArrayView`'s constructor. Unless `writable`, replaces a view with bools other than 0 and 1 by a
/// reported copy.
MEMARRAY_API void check_typed(ViewCore& view, DType const& dtype, int ndim, bool writable, ViewOptions options);
[[noreturn]] MEMARRAY_API void throw_no_mdspan(ViewCore const& view);
[[noreturn]] MEMARRAY_API void throw_no_columns(ViewCore const& view);
[[noreturn]] MEMARRAY_API void throw_closed_view();
/// Throws `TypeError` unless `view` has elements of `dtype`.
MEMARRAY_API void check_element(ViewCore const& view, DType const& dtype);

/// The untyped state of an `ArrayView`.
struct ViewParts {
  ViewParts() = default;
  ViewParts(std::shared_ptr<void const> lease, BlockExport exported, ViewStreamPtr its_stream, void* address) noexcept
      : held(std::move(lease)), memory(std::move(exported)), stream(std::move(its_stream)), data(address) {}
  ViewParts(ViewParts const&) = default;
  ViewParts(ViewParts&&) noexcept = default;
  ~ViewParts() = default;
  /// By value, so that the destructor releases the old parts.
  ViewParts& operator=(ViewParts other) noexcept {
    held.swap(other.held);
    std::swap(memory, other.memory);
    std::swap(stream, other.stream);
    std::swap(data, other.data);
    return *this;
  }

  /// A lease of `memory`; if that is empty, the keep-alive of host memory. First, so released last.
  std::shared_ptr<void const> held{};
  BlockExport memory{};
  ViewStreamPtr stream{};  ///< null on the host
  void* data = nullptr;

  [[nodiscard]] bool is_open() const noexcept { return memory || held; }
};

/// Returns the untyped view. Throws `ValueError` (closed), `BufferError`.
[[nodiscard]] MEMARRAY_API ViewCore untyped(ViewParts const& parts, DType const& dtype, StridedLayout::Extents shape,
                                            StridedLayout::Extents strides, bool writable);

/// An `ArrayView` to fill in, from memory that fits its type.
struct ViewTarget {
  ViewParts& parts;
  std::int64_t* extents;
  std::int64_t* strides;  ///< in elements

  void set_layout(StridedLayout::Extents shape, StridedLayout::Extents bytes, std::size_t itemsize) const noexcept {
    auto const size = static_cast<std::int64_t>(itemsize);
    // A shift avoids the slow division.
    int const shift = std::has_single_bit(itemsize) ? std::countr_zero(itemsize) : -1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      extents[d] = shape[d];
      strides[d] = shift < 0 ? bytes[d] / size : bytes[d] >> shift;
    }
  }
  /// Requires an open view.
  void take(ViewCore&& view) const {
    set_layout(view.layout().shape(), view.layout().strides(), view.dtype().itemsize);
    parts.data = view.data();
    parts.stream = view.stream_ptr();
    parts.memory = view.close();
  }
};

}  // namespace detail

/// A strided view with element type, rank and options known at compile time. Keeps the memory alive. Strides are in
/// elements. Loops over `c_order` views are as fast as over pointers.
///
/// A bound function's argument of this type (`<memarray/python/memarray.hpp>`) accepts any library's memory. It leases
/// an array, for reading if T is const, else for writing.
///
/// Work on device memory belongs in `stream()`, which follows the pending work.
template <class T, int ndim, ViewOptions options = ViewOptions::none>
class ArrayView {
  static_assert(ndim >= 0 && ndim <= StridedLayout::max_ndim);
  static constexpr bool is_c_order = includes(options, c_order);
  static constexpr bool is_f_order = includes(options, f_order);
  static constexpr bool is_on_device = includes(options, on_device);

 public:
  using value_type = std::remove_cv_t<T>;
  using Extents = cuda::std::dextents<std::int64_t, static_cast<std::size_t>(ndim)>;
  using MdSpan = cuda::std::mdspan<
      T, Extents,
      std::conditional_t<is_c_order, cuda::std::layout_right,
                         std::conditional_t<is_f_order, cuda::std::layout_left, cuda::std::layout_stride>>>;
  static constexpr int rank() noexcept { return ndim; }

  /// Makes a closed view.
  ArrayView() noexcept = default;
  /// Throws `ValueError` (closed), `TypeError` (another dtype, rank or order, or strides of partial elements),
  /// `BufferError` (wrong side of host and device; for writing, read-only memory or bools other than 0 and 1). A
  /// read-only view replaces such bools by a reported copy.
  explicit ArrayView(detail::ViewCore core) {
    detail::check_typed(core, dtype_of<value_type>(), ndim, !std::is_const_v<T>, options);
    target().take(std::move(core));
  }
  /// Converts writable to read-only, and dense to strided.
  template <class U, ViewOptions others>
    requires((std::same_as<T, U> || std::same_as<T, U const>) && includes(others, options) &&
             includes(others, on_device) == is_on_device && !(std::same_as<T, U> && others == options))
  ArrayView(ArrayView<U, ndim, others> const& other)  // NOLINT(google-explicit-constructor)
      : _parts(other._parts), _extents(other._extents), _strides(other._strides) {}

  [[nodiscard]] bool is_open() const noexcept { return _parts.is_open(); }
  /// Returns the address of the element at indices 0. Throws `BufferError` if imported memory lacks T's alignment
  /// (`cuda::std::complex`).
  [[nodiscard]] T* data() const noexcept(!detail::is_overaligned<T>) { return detail::elements_at<T>(_parts.data); }
  [[nodiscard]] std::int64_t extent(int dimension) const noexcept { return _extents[at(dimension)]; }
  [[nodiscard]] std::int64_t stride(int dimension) const noexcept { return _strides[at(dimension)]; }
  /// Returns the stride; 1 if no index uses it, as mdspan strides are positive.
  [[nodiscard]] std::int64_t mdspan_stride(int dimension) const noexcept {
    return extent(dimension) <= 1 || size() == 0 ? 1 : stride(dimension);
  }
  [[nodiscard]] std::int64_t size() const noexcept {
    std::int64_t size = is_open() ? 1 : 0;
    for (int d = 0; d < ndim; ++d) size *= extent(d);
    return size;
  }

  /// True if dense in C order. Strides of one-element dimensions do not matter.
  [[nodiscard]] bool is_contiguous() const noexcept { return is_dense(ndim - 1, -1); }
  /// True if dense in Fortran order, likewise.
  [[nodiscard]] bool is_fortran_contiguous() const noexcept { return is_dense(0, 1); }
  /// Returns the distance of columns for BLAS and LAPACK: at least 1 and the number of rows. Throws `ValueError` unless
  /// columns are dense and apart.
  [[nodiscard]] std::int64_t leading_dimension() const
    requires(ndim == 2)
  {
    std::int64_t const rows = std::max<std::int64_t>(extent(0), 1);
    if (size() == 0) return rows;
    if ((rows > 1 && stride(0) != 1) || (extent(1) > 1 && stride(1) < rows)) detail::throw_no_columns(core());
    return extent(1) > 1 ? stride(1) : rows;
  }
  /// Returns a view with reversed dimensions, under the same lease. Throws like a copy.
  [[nodiscard]] ArrayView<T, ndim, detail::reversed(options)> transpose() const {
    ArrayView<T, ndim, detail::reversed(options)> result;
    result._parts = _parts;
    std::reverse_copy(_extents.begin(), _extents.begin() + ndim, result._extents.begin());
    std::reverse_copy(_strides.begin(), _strides.begin() + ndim, result._strides.begin());
    return result;
  }

  template <std::integral... Indices>
    requires(sizeof...(Indices) == ndim && !is_on_device)
  [[nodiscard]] T& operator()(Indices... indices) const noexcept(!detail::is_overaligned<T>) {
    std::int64_t offset = 0;
    [[maybe_unused]] int d = 0;
    ((assert(static_cast<std::int64_t>(indices) >= 0 && static_cast<std::int64_t>(indices) < extent(d)),
      offset += static_cast<std::int64_t>(indices) * step(d), ++d),
     ...);
    return data()[offset];
  }

  /// Borrows the memory. Throws `ValueError` (strides below 1, which `layout_stride` excludes).
  [[nodiscard]] MdSpan mdspan() const {
    detail::IndexArray<std::int64_t, ndim> extents{};
    for (int d = 0; d < ndim; ++d) extents[at(d)] = extent(d);
    if constexpr (is_c_order || is_f_order) {
      return MdSpan(data(), Extents(extents));
    } else {
      detail::IndexArray<std::int64_t, ndim> strides{};
      for (int d = 0; d < ndim; ++d) {
        strides[at(d)] = mdspan_stride(d);
        if (strides[at(d)] <= 0) detail::throw_no_mdspan(core());
      }
      return MdSpan(data(), typename MdSpan::mapping_type(Extents(extents), strides));
    }
  }
  /// Borrows all elements, in memory order.
  [[nodiscard]] std::span<T> span() const noexcept(!detail::is_overaligned<T>)
    requires(is_c_order || is_f_order)
  {
    return {data(), static_cast<std::size_t>(size())};
  }

  /// Throws `ValueError` (closed).
  [[nodiscard]] StreamHandle const& stream() const
    requires(is_on_device)
  {
    if (!is_open()) detail::throw_closed_view();
    return _parts.stream->bound_stream.stream;
  }
  /// Returns the context of `stream()`. Work in a default stream goes to the current context: enter this one first
  /// (`EnteredContext`). Throws `ValueError` (closed).
  [[nodiscard]] ContextHandle const& context() const
    requires(is_on_device)
  {
    if (!is_open()) detail::throw_closed_view();
    return _parts.stream->bound_stream.context;
  }
  /// Returns a view in another stream of the device. The stream waits for pending work; later users wait for the
  /// stream. Throws `ValueError` (closed; another device's stream), `CudaError`.
  [[nodiscard]] ArrayView in_stream(StreamHandle const& stream) const
    requires(is_on_device)
  {
    detail::ViewCore moved = core().in_stream(stream);
    moved.export_to(&stream);
    ArrayView result;
    result.target().take(std::move(moved));
    result._parts.held = _parts.held;
    return result;
  }

  /// Returns an untyped view without a lease. Throws `ValueError` (closed).
  [[nodiscard]] detail::ViewCore core() const {
    std::array<std::int64_t, static_cast<std::size_t>(ndim)> bytes{};
    for (int d = 0; d < ndim; ++d) bytes[at(d)] = stride(d) * static_cast<std::int64_t>(sizeof(T));
    return detail::untyped(_parts, dtype_of<value_type>(), {_extents.data(), ndim}, bytes, !std::is_const_v<T>);
  }

  [[nodiscard]] detail::ViewTarget target() noexcept { return {_parts, _extents.data(), _strides.data()}; }

 private:
  template <class U, int n, ViewOptions others>
  friend class ArrayView;

  [[nodiscard]] static std::size_t at(int dimension) noexcept { return static_cast<std::size_t>(dimension); }
  [[nodiscard]] std::int64_t step(int dimension) const noexcept {
    if constexpr (is_c_order)
      if (dimension == ndim - 1) return 1;
    if constexpr (is_f_order)
      if (dimension == 0) return 1;
    return stride(dimension);
  }

  [[nodiscard]] bool is_dense(int fastest, int next) const noexcept {
    std::int64_t expected = 1;
    for (int i = 0, d = fastest; i < ndim && size() != 0; ++i, d += next) {
      if (extent(d) != 1 && stride(d) != expected) return false;
      expected *= extent(d);
    }
    return true;
  }

  static constexpr std::size_t at_least_one = ndim == 0 ? 1 : ndim;
  detail::ViewParts _parts;
  std::array<std::int64_t, at_least_one> _extents{};
  std::array<std::int64_t, at_least_one> _strides{};
};

}  // namespace memarray
