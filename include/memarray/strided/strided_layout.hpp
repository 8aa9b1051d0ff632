#pragma once

#include <memarray/base/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace memarray {

/// A range of indices of one dimension, like Python's `slice`: `{}` is all of it, `{.step = -1}` all of it backwards,
/// `{.stop = -1}` all but the last. Numbers below zero count from the end; the range is clipped to the dimension.
struct Slice {
  std::optional<std::int64_t> start{};
  std::optional<std::int64_t> stop{};
  std::int64_t step = 1;
};

/// The extents of a view and its strides in bytes. A stride may be zero (broadcast) or negative (flipped). A plain
/// value. Functions that change it leave it unchanged if they throw. If the first element moves, they return by how
/// many bytes.
class MEMARRAY_API StridedLayout {
 public:
  /// The largest number of dimensions of a view.
  static constexpr int max_ndim = 16;
  using Extents = std::span<std::int64_t const>;

  /// Makes the layout of one element, without dimensions.
  StridedLayout() noexcept {}
  StridedLayout(StridedLayout const& other) noexcept { *this = other; }
  StridedLayout& operator=(StridedLayout const& other) noexcept {
    _ndim = other._ndim;
    for (std::size_t d = 0; d < at(_ndim); d += together) {
      std::memcpy(&_shape[d], &other._shape[d], together * sizeof(_shape[d]));
      std::memcpy(&_strides[d], &other._strides[d], together * sizeof(_strides[d]));
    }
    return *this;
  }
  /// Returns a dense layout in C order. Throws `ValueError` (a negative extent, or too many dimensions);
  /// `OverflowError` (more bytes than 64 bits count).
  [[nodiscard]] static StridedLayout dense(Extents shape, std::size_t itemsize);
  /// Returns a layout with any strides, in bytes. Throws like `dense`; `ValueError` if `strides` has another length;
  /// `OverflowError` if an element's offset, or the size of all elements in bytes, exceeds 64 bits.
  [[nodiscard]] static StridedLayout strided(Extents shape, Extents strides, std::size_t itemsize);

  [[nodiscard]] int ndim() const noexcept { return _ndim; }
  [[nodiscard]] Extents shape() const noexcept { return {_shape.data(), static_cast<std::size_t>(_ndim)}; }
  [[nodiscard]] Extents strides() const noexcept { return {_strides.data(), static_cast<std::size_t>(_ndim)}; }
  [[nodiscard]] std::int64_t extent(int dimension) const noexcept { return _shape[at(dimension)]; }
  [[nodiscard]] std::int64_t stride(int dimension) const noexcept { return _strides[at(dimension)]; }
  /// Returns the number of elements.
  [[nodiscard]] std::int64_t size() const noexcept {
    std::int64_t size = 1;
    for (std::int64_t const extent : shape()) size *= extent;
    return size;
  }
  /// True if the elements are adjacent in C order. Strides of dimensions with one element do not matter.
  [[nodiscard]] bool is_contiguous(std::size_t itemsize) const noexcept;
  /// True if the elements are adjacent in Fortran order. Strides of dimensions with one element do not matter.
  [[nodiscard]] bool is_fortran_contiguous(std::size_t itemsize) const noexcept;
  /// True if elements with different indices may overlap. Never misses an overlap, and never reports one for a slice of
  /// dense memory.
  [[nodiscard]] bool may_overlap(std::size_t itemsize) const noexcept;

  /// The bytes that the elements span, from `first` (0 or below) to before `last`. Both count from the element with all
  /// indices 0, and both are 0 if there are no elements.
  struct Span {
    std::int64_t first;
    std::int64_t last;
  };
  [[nodiscard]] Span span(std::size_t itemsize) const noexcept;

  /// Keeps a range of a dimension. Throws `ValueError` (a step of 0), `IndexError` (no such dimension).
  std::int64_t slice(int dimension, Slice const& range);
  /// Keeps one index of a dimension and drops the dimension. Negative indices count from the end. Throws `IndexError`.
  std::int64_t select(int dimension, std::int64_t index);
  /// Inserts a dimension of one element before `dimension`. Throws `ValueError` (too many dimensions), `IndexError`.
  void insert(int dimension);
  /// Reorders the dimensions: new dimension `i` is old dimension `axes[i]`; negative axes count from the end. Reverses
  /// the dimensions if `axes` is empty. Throws `ValueError` unless each dimension is named once.
  void transpose(std::span<int const> axes = {});
  /// Gives the elements another shape, in C order. One extent may be −1; it follows from the others. Returns false and
  /// changes nothing if the shape requires a copy. Throws `ValueError` if the number of elements differs.
  [[nodiscard]] bool reshape(Extents shape, std::size_t itemsize);
  /// Repeats dimensions of one element, and adds dimensions before the first, with strides of 0. Throws `ValueError` if
  /// the shapes are not compatible.
  void broadcast_to(Extents shape);

  friend MEMARRAY_API bool operator==(StridedLayout const& left, StridedLayout const& right) noexcept;

 private:
  [[nodiscard]] static std::size_t at(int dimension) noexcept { return static_cast<std::size_t>(dimension); }
  /// Sets shape and strides. Returns false if there are no elements or 64 bits cannot address them.
  [[nodiscard]] bool take(Extents shape, Extents strides, std::size_t itemsize) noexcept;
  void check_dimension(int dimension, int end) const;
  void erase(int dimension) noexcept;

  static constexpr std::size_t together = 4;
  static_assert(max_ndim % together == 0);
  // Entries past the last dimension are neither set nor copied: most views have few dimensions.
  std::array<std::int64_t, max_ndim> _shape;
  std::array<std::int64_t, max_ndim> _strides;
  int _ndim = 0;
};

}  // namespace memarray
