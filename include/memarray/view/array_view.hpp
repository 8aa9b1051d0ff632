#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <cuda/std/mdspan>

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

/// What the type of an `ArrayView` says of its memory, beside the elements; combined with `|`. By default the memory is
/// on the host, with any strides.
enum class ViewOptions : std::uint8_t {
  none = 0,
  c_order = 1,    ///< dense: the last index goes through memory
  f_order = 2,    ///< dense: the first index does
  on_device = 4,  ///< on a device, where the host does not reach it
};
inline constexpr ViewOptions c_order = ViewOptions::c_order;
inline constexpr ViewOptions f_order = ViewOptions::f_order;
inline constexpr ViewOptions on_device = ViewOptions::on_device;

[[nodiscard]] constexpr ViewOptions operator|(ViewOptions left, ViewOptions right) noexcept {
  return static_cast<ViewOptions>(static_cast<unsigned>(left) | static_cast<unsigned>(right));
}
/// Whether `options` says all that `wanted` says.
[[nodiscard]] constexpr bool includes(ViewOptions options, ViewOptions wanted) noexcept {
  return (static_cast<unsigned>(options) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

namespace detail {

/// Throws `TypeError` unless `view` has that dtype, rank and order, and its strides are whole elements; `BufferError`
/// if it is not where `options` says, or `writable` and it is read-only; `ValueError` if it is closed. Bools of another
/// library that are neither 0 nor 1 are a `BufferError` if `writable`; else `view` becomes a reported copy.
MEMARRAY_API void check_typed(ViewCore& view, DType const& dtype, int ndim, bool writable, ViewOptions options);
[[noreturn]] MEMARRAY_API void throw_no_mdspan(ViewCore const& view);
[[noreturn]] MEMARRAY_API void throw_closed_view();
/// Throws `TypeError` unless `view` has elements of that dtype.
MEMARRAY_API void check_element(ViewCore const& view, DType const& dtype);

/// What every `ArrayView` has, whatever its type. One of the first two keeps the memory.
struct ViewParts {
  /// As long as somebody uses the memory: a lease of `memory`, or else the memory's owner. Ends last.
  std::shared_ptr<void const> held{};
  BlockExport memory{};
  ViewStreamPtr stream{};  ///< of memory on a device
  void* data = nullptr;

  [[nodiscard]] bool is_open() const noexcept { return memory || held; }
};

/// The view without its type. Throws `ValueError` (closed), `BufferError` (memory that nobody may view).
[[nodiscard]] MEMARRAY_API ViewCore untyped(ViewParts const& parts, DType const& dtype, StridedLayout::Extents shape,
                                            StridedLayout::Extents strides, bool writable);

/// An `ArrayView` that is filled in by whoever knows that the memory fits.
struct ViewTarget {
  ViewParts& parts;
  std::int64_t* extents;  ///< in elements, and so are the strides
  std::int64_t* strides;

  void set_layout(StridedLayout::Extents shape, StridedLayout::Extents bytes, std::size_t itemsize) const noexcept {
    auto const size = static_cast<std::int64_t>(itemsize);
    // All but structs have powers of two, and a division takes as long as all else.
    int const shift = std::has_single_bit(itemsize) ? std::countr_zero(itemsize) : -1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      extents[d] = shape[d];
      strides[d] = shift < 0 ? bytes[d] / size : bytes[d] >> shift;
    }
  }
  /// Takes the memory of `view`, which is open, over.
  void take(ViewCore&& view) const {
    set_layout(view.layout().shape(), view.layout().strides(), view.dtype().itemsize);
    parts.data = view.data();
    parts.stream = view.stream_ptr();
    parts.memory = view.close();
  }
};

}  // namespace detail

/// A view whose type says what its elements are: `ArrayView<double, 2>`, or `ArrayView<double const, 2>` to look at.
/// It keeps its memory alive, and so do its copies. Extents and strides are in elements; `mdspan()` is the same for
/// code that takes one. `ArrayView<double, 2, c_order>` is dense, and its loops are as fast as over a pointer.
///
/// As a function's argument (`<memarray/python/memarray.hpp>`) it takes memory of any library; of an array, it and its
/// copies hold the array's lease: for reading if T is const, else for writing.
///
/// Memory on a device (`on_device`) is used by work in `stream()`, which comes after what it was used for before.
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

  /// A closed one, without elements.
  ArrayView() noexcept = default;
  /// Throws `ValueError` (closed), `TypeError` (another dtype or rank, not in that order), `BufferError` (read-only,
  /// not there).
  explicit ArrayView(detail::ViewCore core) {
    detail::check_typed(core, dtype_of<value_type>(), ndim, !std::is_const_v<T>, options);
    target().take(std::move(core));
  }
  /// What may be written may be looked at, and what is dense has strides, too.
  template <class U, ViewOptions others>
    requires((std::same_as<T, U> || std::same_as<T, U const>) && includes(others, options) &&
             includes(others, on_device) == is_on_device && !(std::same_as<T, U> && others == options))
  ArrayView(ArrayView<U, ndim, others> const& other)  // NOLINT(google-explicit-constructor)
      : _parts(other._parts), _extents(other._extents), _strides(other._strides) {}

  [[nodiscard]] bool is_open() const noexcept { return _parts.is_open(); }
  /// On a device: an address there. `BufferError` for imported elements that are not aligned as
  /// `cuda::std::complex` asks.
  [[nodiscard]] T* data() const noexcept(!detail::is_overaligned<T>) { return detail::elements_at<T>(_parts.data); }
  [[nodiscard]] std::int64_t extent(int dimension) const noexcept { return _extents[at(dimension)]; }
  [[nodiscard]] std::int64_t stride(int dimension) const noexcept { return _strides[at(dimension)]; }
  /// The stride, or 1 where there is one index or no element, so that nobody steps: an mdspan's are above zero.
  [[nodiscard]] std::int64_t mdspan_stride(int dimension) const noexcept {
    return extent(dimension) <= 1 || size() == 0 ? 1 : stride(dimension);
  }
  [[nodiscard]] std::int64_t size() const noexcept {
    std::int64_t size = is_open() ? 1 : 0;
    for (int d = 0; d < ndim; ++d) size *= extent(d);
    return size;
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

  /// Keeps nothing alive. Strides of `layout_stride` are positive, so of a flipped view there is none: `ValueError`.
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
  /// All elements, as they lie in memory. Keeps nothing alive.
  [[nodiscard]] std::span<T> span() const noexcept(!detail::is_overaligned<T>)
    requires(is_c_order || is_f_order)
  {
    return {data(), static_cast<std::size_t>(size())};
  }

  /// Work with the memory is submitted to this stream.
  [[nodiscard]] StreamHandle const& stream() const
    requires(is_on_device)
  {
    if (!is_open()) detail::throw_closed_view();
    return _parts.stream->queue.stream;
  }
  /// The same memory for work in another stream of its device: what is submitted there comes after all it was used for
  /// so far, and whoever uses it next waits for that, too. Throws `CudaError`, `ValueError` (of another device).
  [[nodiscard]] ArrayView in_stream(StreamHandle const& stream) const
    requires(is_on_device)
  {
    detail::ViewCore moved = core().in_stream(stream);
    moved.lend(&stream);
    ArrayView result;
    result.target().take(std::move(moved));
    result._parts.held = _parts.held;
    return result;
  }

  /// The same as an untyped view, which keeps the memory and holds no lease. Throws `ValueError` (closed).
  [[nodiscard]] detail::ViewCore core() const {
    std::array<std::int64_t, static_cast<std::size_t>(ndim)> bytes{};
    for (int d = 0; d < ndim; ++d) bytes[at(d)] = stride(d) * static_cast<std::int64_t>(sizeof(T));
    return detail::untyped(_parts, dtype_of<value_type>(), {_extents.data(), ndim}, bytes, !std::is_const_v<T>);
  }

  /// Where a caster writes it.
  [[nodiscard]] detail::ViewTarget target() noexcept { return {_parts, _extents.data(), _strides.data()}; }

 private:
  template <class U, int n, ViewOptions others>
  friend class ArrayView;

  [[nodiscard]] static std::size_t at(int dimension) noexcept { return static_cast<std::size_t>(dimension); }
  /// A stride, which in dense memory the compiler may know.
  [[nodiscard]] std::int64_t step(int dimension) const noexcept {
    if constexpr (is_c_order)
      if (dimension == ndim - 1) return 1;
    if constexpr (is_f_order)
      if (dimension == 0) return 1;
    return stride(dimension);
  }

  static constexpr std::size_t at_least_one = ndim == 0 ? 1 : ndim;
  detail::ViewParts _parts;
  std::array<std::int64_t, at_least_one> _extents{};
  std::array<std::int64_t, at_least_one> _strides{};
};

}  // namespace memarray
