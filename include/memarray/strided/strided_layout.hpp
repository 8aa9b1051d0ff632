#pragma once

#include <memarray/base/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace memarray {

/// A range of indices, like Python's `slice`: negative numbers count from the end, and the range is clipped.
struct Slice {
  std::optional<std::int64_t> start{};
  std::optional<std::int64_t> stop{};
  std::int64_t step = 1;
};

/// The extents and byte strides of a view. Strides may be zero (broadcast) or negative (flipped). `slice` and `select`
/// return the bytes by which the first element moves. A function that fails or throws changes nothing.
class MEMARRAY_API StridedLayout {
 public:
  static constexpr int max_ndim = 16;
  using Extents = std::span<std::int64_t const>;

  /// Makes a layout of one element.
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
  /// Returns a layout in C order. Throws `ValueError` (a negative extent; too many dimensions), `OverflowError` (over
  /// 64 bits).
  [[nodiscard]] static StridedLayout dense(Extents shape, std::size_t itemsize);
  /// Throws like `dense`, `ValueError` for another number of strides, `OverflowError` if an offset or the size exceeds
  /// 64 bits.
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
  /// True if dense in C order. Strides of one-element dimensions do not matter.
  [[nodiscard]] bool is_contiguous(std::size_t itemsize) const noexcept;
  /// True if dense in Fortran order, likewise.
  [[nodiscard]] bool is_fortran_contiguous(std::size_t itemsize) const noexcept;
  /// True if elements may overlap: never misses an overlap, never reports one in slices of dense memory.
  [[nodiscard]] bool may_overlap(std::size_t itemsize) const noexcept;

  /// The bytes from `first` (at most 0) to before `last`, relative to the element at indices 0; both are 0 without
  /// elements.
  struct Span {
    std::int64_t first;
    std::int64_t last;
  };
  [[nodiscard]] Span span(std::size_t itemsize) const noexcept;

  /// Keeps a range of a dimension. Throws `ValueError` (a step of 0), `IndexError`.
  std::int64_t slice(int dimension, Slice const& range);
  /// Keeps one index of a dimension, negative from the end, and drops the dimension. Throws `IndexError`.
  std::int64_t select(int dimension, std::int64_t index);
  /// Inserts a one-element dimension before `dimension`. Throws `ValueError` (too many), `IndexError`.
  void insert(int dimension);
  /// Makes dimension `axes[i]`, negative from the end, the new dimension `i`; without axes reverses all. Throws
  /// `ValueError` unless each dimension is named once.
  void transpose(std::span<int const> axes = {});
  /// Changes the shape, in C order; one extent may be −1. Returns false if that needs a copy. Throws `ValueError` for
  /// another number of elements.
  [[nodiscard]] bool reshape(Extents shape, std::size_t itemsize);
  /// Repeats one-element dimensions and adds leading ones, with strides of 0. Throws `ValueError` for incompatible
  /// shapes.
  void broadcast_to(Extents shape);

  friend MEMARRAY_API bool operator==(StridedLayout const& left, StridedLayout const& right) noexcept;

 private:
  [[nodiscard]] static std::size_t at(int dimension) noexcept { return static_cast<std::size_t>(dimension); }
  /// Returns false if there are no elements or 64 bits cannot address them.
  [[nodiscard]] bool take(Extents shape, Extents strides, std::size_t itemsize) noexcept;
  void check_dimension(int dimension, int end) const;
  void erase(int dimension) noexcept;

  static constexpr std::size_t together = 4;
  static_assert(max_ndim % together == 0);
  // Entries past the last dimension are not set, and copied only up to a multiple of `together`.
  std::array<std::int64_t, max_ndim> _shape;
  std::array<std::int64_t, max_ndim> _strides;
  int _ndim = 0;
};

}  // namespace memarray
