#pragma once

#include <memarray/base/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace memarray {

/// A range of indices of one dimension, as Python's `slice`: `{}` is all of it, `{.step = -1}` all of it backwards,
/// `{.stop = -1}` all but the last. Numbers below zero count from the end; what lies outside is cut off.
struct Slice {
  std::optional<std::int64_t> start{};
  std::optional<std::int64_t> stop{};
  std::int64_t step = 1;
};

/// Where the elements of a view lie: extents, and for each dimension the bytes from one index to the next, which may be
/// zero (broadcast) or negative (flipped). A plain value; functions that change it give back how many bytes the first
/// element moves, or throw and leave it as it was.
class MEMARRAY_API StridedLayout {
 public:
  /// The most dimensions of a view.
  static constexpr int max_ndim = 16;
  using Extents = std::span<std::int64_t const>;

  /// Of one element, without dimensions.
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
  /// Dense, in C order. Throws `ValueError` (negative extents, too many of them), `OverflowError`.
  [[nodiscard]] static StridedLayout dense(Extents shape, std::size_t itemsize);
  /// Any strides, in bytes. Throws like `dense`, and `OverflowError` if an element were further than 64 bits can say,
  /// or all of them more bytes.
  [[nodiscard]] static StridedLayout strided(Extents shape, Extents strides, std::size_t itemsize);

  [[nodiscard]] int ndim() const noexcept { return _ndim; }
  [[nodiscard]] Extents shape() const noexcept { return {_shape.data(), static_cast<std::size_t>(_ndim)}; }
  [[nodiscard]] Extents strides() const noexcept { return {_strides.data(), static_cast<std::size_t>(_ndim)}; }
  [[nodiscard]] std::int64_t extent(int dimension) const noexcept { return _shape[at(dimension)]; }
  [[nodiscard]] std::int64_t stride(int dimension) const noexcept { return _strides[at(dimension)]; }
  /// The number of elements.
  [[nodiscard]] std::int64_t size() const noexcept {
    std::int64_t size = 1;
    for (std::int64_t const extent : shape()) size *= extent;
    return size;
  }
  /// Whether the elements follow one another in C order; strides of dimensions with one element do not matter.
  [[nodiscard]] bool is_contiguous(std::size_t itemsize) const noexcept;
  /// The same in Fortran's order.
  [[nodiscard]] bool is_fortran_contiguous(std::size_t itemsize) const noexcept;
  /// Whether two indices may be one element: always found where they are, and never thought of a slice of something
  /// dense.
  [[nodiscard]] bool may_overlap(std::size_t itemsize) const noexcept;

  /// The bytes that the elements span, from `first` (0 or below) to before `last`, counted from the element with all
  /// indices 0; both 0 if there are none.
  struct Span {
    std::int64_t first;
    std::int64_t last;
  };
  [[nodiscard]] Span span(std::size_t itemsize) const noexcept;

  /// Keeps a range of a dimension. Throws `ValueError` (a step of 0), `IndexError` (no such dimension).
  std::int64_t slice(int dimension, Slice const& range);
  /// Keeps one index of a dimension, below zero from the end, and drops the dimension. Throws `IndexError`.
  std::int64_t select(int dimension, std::int64_t index);
  /// A new dimension of one element before `dimension`. Throws `ValueError` (too many), `IndexError`.
  void insert(int dimension);
  /// Reorders the dimensions: the new one `i` is the old `axes[i]`, below zero from the end; none: reverses them.
  /// Throws `ValueError` unless each is there once.
  void transpose(std::span<int const> axes = {});
  /// The same elements in C order under another shape, one of whose extents may be −1: what is left. False if that
  /// takes a copy. Throws `ValueError` for another number of elements.
  [[nodiscard]] bool reshape(Extents shape, std::size_t itemsize);
  /// Repeats dimensions of one element, and adds dimensions before the first, by strides of 0. Throws `ValueError` for
  /// a shape that it cannot have.
  void broadcast_to(Extents shape);

  friend MEMARRAY_API bool operator==(StridedLayout const& left, StridedLayout const& right) noexcept;

 private:
  [[nodiscard]] static std::size_t at(int dimension) noexcept { return static_cast<std::size_t>(dimension); }
  /// Becomes that of elements of which there are some and which 64 bits can reach; false without one.
  [[nodiscard]] bool take(Extents shape, Extents strides, std::size_t itemsize) noexcept;
  void check_dimension(int dimension, int end) const;
  void erase(int dimension) noexcept;

  static constexpr std::size_t together = 4;
  static_assert(max_ndim % together == 0);
  // What lies past the last dimension is neither set nor copied: most views have few.
  std::array<std::int64_t, max_ndim> _shape;
  std::array<std::int64_t, max_ndim> _strides;
  int _ndim = 0;
};

}  // namespace memarray
