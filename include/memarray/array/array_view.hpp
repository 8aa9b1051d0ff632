#pragma once

#include <memarray/array/array_indexer.hpp>
#include <memarray/array/view_core.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>

#include <cuda/std/mdspan>

#include <cassert>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace memarray {

namespace detail {

/// Throws `TypeError` unless `view` has that dtype and rank and its strides are whole elements; strides in elements go
/// to `strides`. `writable`: throws `BufferError` if it is read-only.
MEMARRAY_API void check_typed(ViewCore const& view, DType const& dtype, int ndim, bool writable, std::int64_t* strides);
[[noreturn]] MEMARRAY_API void throw_no_mdspan(ViewCore const& view);
/// Throws `TypeError` unless `view` has elements of that dtype.
MEMARRAY_API void check_element(ViewCore const& view, DType const& dtype);

}  // namespace detail

/// A view whose type says what its elements are: `ArrayView<double, 2>`, or `ArrayView<double const, 2>` to look at.
/// It keeps its memory alive. Extents and strides are in elements; `mdspan()` is the same for code that takes one.
template <class T, int ndim>
class ArrayView {
  static_assert(ndim >= 0 && ndim <= StridedLayout::max_ndim);

 public:
  using value_type = std::remove_cv_t<T>;
  using Extents = cuda::std::dextents<std::int64_t, ndim>;
  using MdSpan = cuda::std::mdspan<T, Extents, cuda::std::layout_stride>;
  static constexpr int rank() noexcept { return ndim; }

  /// Throws `ValueError` (closed), `TypeError` (another dtype or rank), `BufferError` (read-only).
  explicit ArrayView(detail::ViewCore core) : _core(std::move(core)) {
    detail::check_typed(_core, dtype_of<value_type>(), ndim, !std::is_const_v<T>, _strides);
  }

  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(_core.data()); }
  [[nodiscard]] std::int64_t extent(int dimension) const noexcept { return _core.layout().extent(dimension); }
  [[nodiscard]] std::int64_t stride(int dimension) const noexcept { return _strides[dimension]; }
  [[nodiscard]] std::int64_t size() const noexcept { return _core.layout().size(); }

  template <std::integral... Indices>
    requires(sizeof...(Indices) == ndim)
  [[nodiscard]] T& operator()(Indices... indices) const noexcept {
    std::int64_t offset = 0;
    [[maybe_unused]] int d = 0;
    ((assert(static_cast<std::int64_t>(indices) >= 0 && static_cast<std::int64_t>(indices) < extent(d)),
      offset += static_cast<std::int64_t>(indices) * _strides[d++]),
     ...);
    return data()[offset];
  }

  /// Keeps nothing alive. Strides of `layout_stride` are positive, so of a flipped view there is none: `ValueError`.
  [[nodiscard]] MdSpan mdspan() const {
    cuda::std::array<std::int64_t, ndim> extents{};
    cuda::std::array<std::int64_t, ndim> strides{};
    for (int d = 0; d < ndim; ++d) {
      extents[d] = extent(d);
      strides[d] = _strides[d];
      // Of one element or none nobody steps.
      if (extent(d) <= 1) strides[d] = 1;
      if (strides[d] <= 0) detail::throw_no_mdspan(_core);
    }
    return MdSpan(data(), typename MdSpan::mapping_type(Extents(extents), strides));
  }

  [[nodiscard]] detail::ViewCore const& core() const noexcept { return _core; }

 private:
  detail::ViewCore _core;
  std::int64_t _strides[ndim == 0 ? 1 : ndim]{};
};

}  // namespace memarray
