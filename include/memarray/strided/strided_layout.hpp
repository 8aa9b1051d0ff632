#pragma once

#include <memarray/base/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace memarray {

/// A range of indices like Python's `slice`: negative numbers count from the end; the range is clipped.
struct Slice {
  std::optional<std::int64_t> start{};
  std::optional<std::int64_t> stop{};
  std::int64_t step = 1;
};

/// Extents and byte strides of a view; strides may be 0 (broadcast) or negative (flipped). `slice` and `select` return
/// the bytes by which the first element moves. A call that fails changes nothing.
class MEMARRAY_API StridedLayout {
 public:
  static constexpr int max_ndim = 16;
  using Extents = std::span<std::int64_t const>;

  /// Makes a layout of one element, without dimensions.
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
  /// Returns a layout in C order. Throws `ValueError` (negative extent, too many dimensions), `OverflowError` (size
  /// over 63 bits).
  [[nodiscard]] static StridedLayout dense(Extents shape, std::size_t itemsize);
  /// Returns a layout with byte strides, or `dense` if without elements. Throws like `dense`, also `ValueError` (number
  /// of strides), `OverflowError` (offset over 63 bits).
  [[nodiscard]] static StridedLayout strided(Extents shape, Extents strides, std::size_t itemsize);

  [[nodiscard]] int ndim() const noexcept { return _ndim; }
  [[nodiscard]] Extents shape() const noexcept { return {_shape.data(), static_cast<std::size_t>(_ndim)}; }
  [[nodiscard]] Extents strides() const noexcept { return {_strides.data(), static_cast<std::size_t>(_ndim)}; }
  [[nodiscard]] std::int64_t extent(int dimension) const noexcept { return _shape[at(dimension)]; }
  [[nodiscard]] std::int64_t stride(int dimension) const noexcept { return _strides[at(dimension)]; }
  [[nodiscard]] std::int64_t size() const noexcept {
    std::int64_t size = 1;
    for (std::int64_t const extent : shape()) size *= extent;
    return size;
  }
  /// True if dense in C order, ignoring one-element dimensions, or without elements.
  [[nodiscard]] bool is_contiguous(std::size_t itemsize) const noexcept;
  /// Like `is_contiguous`, in Fortran order.
  [[nodiscard]] bool is_fortran_contiguous(std::size_t itemsize) const noexcept;
  /// True if elements may overlap. Misses no overlap, and reports none in slices of dense memory.
  [[nodiscard]] bool may_overlap(std::size_t itemsize) const noexcept;

  /// Bytes [`first`, `last`) of all elements, relative to the element at indices 0. Both are 0 without elements.
  struct Span {
    std::int64_t first;
    std::int64_t last;
  };
  [[nodiscard]] Span span(std::size_t itemsize) const noexcept;

  /// Keeps a range of a dimension. Throws `ValueError` (step 0), `IndexError`.
  std::int64_t slice(int dimension, Slice const& range);
  /// Drops a dimension, keeping one index, negative from the end. Throws `IndexError`.
  std::int64_t select(int dimension, std::int64_t index);
  /// Inserts a one-element dimension before `dimension`. Throws `ValueError` (too many), `IndexError`.
  void insert(int dimension);
  /// Makes dimension `axes[i]`, negative from the end, the new dimension `i`; reverses all without axes. Throws
  /// `ValueError` (each dimension must occur once).
  void transpose(std::span<int const> axes = {});
  /// Changes the shape in C order; one extent may be −1. Returns false if that needs a copy. Throws `ValueError`
  /// (another number of elements).
  [[nodiscard]] bool reshape(Extents shape, std::size_t itemsize);
  /// Repeats one-element dimensions and adds leading ones, with stride 0. Throws `ValueError` (incompatible shapes).
  void broadcast_to(Extents shape);

  friend MEMARRAY_API bool operator==(StridedLayout const& left, StridedLayout const& right) noexcept;

 private:
  [[nodiscard]] static std::size_t at(int dimension) noexcept { return static_cast<std::size_t>(dimension); }
  /// Sets the layout. Returns false if it is invalid or without elements.
  [[nodiscard]] bool take(Extents shape, Extents strides, std::size_t itemsize) noexcept;
  void check_dimension(int dimension, int end) const;
  void erase(int dimension) noexcept;

  static constexpr std::size_t together = 4;
  static_assert(max_ndim % together == 0);
  // Entries past `_ndim` are not set. Copies take multiples of `together`.
  std::array<std::int64_t, max_ndim> _shape;
  std::array<std::int64_t, max_ndim> _strides;
  int _ndim = 0;
};

}  // namespace memarray
