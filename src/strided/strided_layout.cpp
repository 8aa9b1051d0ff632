#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace memarray {
namespace {

void check_ndim(std::size_t ndim) {
  if (ndim > StridedLayout::max_ndim)
    throw ValueError("a view has at most " + std::to_string(StridedLayout::max_ndim) + " dimensions, not " +
                     std::to_string(ndim));
}

/// Returns the product, or 0 if it or its negative overflows: no element uses such a stride.
std::int64_t times_or_zero(std::int64_t stride, std::int64_t factor) noexcept {
  std::int64_t result = 0;
  bool const fits = !__builtin_mul_overflow(stride, factor, &result);
  return fits && result != std::numeric_limits<std::int64_t>::min() ? result : 0;
}

}  // namespace

StridedLayout StridedLayout::dense(Extents shape, std::size_t itemsize) {
  check_ndim(shape.size());
  checked_bytes(checked_size(shape), itemsize);
  StridedLayout result;
  result._ndim = static_cast<int>(shape.size());
  auto stride = static_cast<std::int64_t>(itemsize);
  for (std::size_t d = shape.size(); d-- > 0;) {
    result._shape[d] = shape[d];
    result._strides[d] = stride;
    stride = times_or_zero(stride, std::max<std::int64_t>(shape[d], 1));
  }
  return result;
}

StridedLayout StridedLayout::strided(Extents shape, Extents strides, std::size_t itemsize) {
  StridedLayout result;
  if (result.take(shape, strides, itemsize)) return result;
  check_ndim(shape.size());
  std::int64_t const size = checked_size(shape);
  if (strides.size() != shape.size())
    throw ValueError("a shape of " + std::to_string(shape.size()) + " dimensions needs as many strides, not " +
                     std::to_string(strides.size()));
  // Any strides are valid.
  if (size == 0) {
    result = dense(shape, itemsize);
    return result;
  }
  // Even if elements share memory: a copy needs this size.
  checked_bytes(size, itemsize);
  throw OverflowError("strides " + shape_text(strides) + " of shape " + shape_text(shape) +
                      " reach further than 64 bits can express");
}

bool StridedLayout::take(Extents shape, Extents strides, std::size_t itemsize) noexcept {
  if (shape.size() > max_ndim || strides.size() != shape.size()) return false;
  auto bytes = static_cast<std::int64_t>(itemsize);
  std::int64_t below = 0;
  std::int64_t above = bytes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t const extent = shape[d];
    std::int64_t const stride = strides[d];
    std::int64_t distance = 0;
    if (extent < 1 || __builtin_mul_overflow(bytes, extent, &bytes) ||
        __builtin_mul_overflow(extent - 1, stride, &distance) ||
        __builtin_add_overflow(below, std::min<std::int64_t>(distance, 0), &below) ||
        __builtin_add_overflow(above, std::max<std::int64_t>(distance, 0), &above))
      return false;
    _shape[d] = extent;
    _strides[d] = stride;
  }
  _ndim = static_cast<int>(shape.size());
  std::int64_t length = 0;
  return !__builtin_sub_overflow(above, below, &length);
}

bool StridedLayout::is_contiguous(std::size_t itemsize) const noexcept {
  if (size() == 0) return true;
  // Cannot overflow: dense strides stay within the memory's size.
  auto expected = static_cast<std::int64_t>(itemsize);
  for (int d = _ndim; d-- > 0;) {
    if (extent(d) == 1) continue;
    if (stride(d) != expected) return false;
    expected *= extent(d);
  }
  return true;
}

bool StridedLayout::is_fortran_contiguous(std::size_t itemsize) const noexcept {
  if (size() == 0) return true;
  auto expected = static_cast<std::int64_t>(itemsize);
  for (int d = 0; d < _ndim; ++d) {
    if (extent(d) == 1) continue;
    if (stride(d) != expected) return false;
    expected *= extent(d);
  }
  return true;
}

bool StridedLayout::may_overlap(std::size_t itemsize) const noexcept {
  if (size() <= 1) return false;
  std::array<std::pair<std::int64_t, std::int64_t>, max_ndim> steps;  // stride, extent
  std::size_t count = 0;
  for (int d = 0; d < _ndim; ++d)
    if (extent(d) > 1) steps[count++] = {std::abs(stride(d)), extent(d)};
  std::sort(steps.begin(), steps.begin() + count);
  // No overlap if each dimension steps over the span of the shorter ones.
  auto spanned = static_cast<std::int64_t>(itemsize);
  for (std::size_t i = 0; i < count; ++i) {
    auto const [stride, extent] = steps[i];
    if (stride < spanned) return true;
    spanned += stride * (extent - 1);
  }
  return false;
}

StridedLayout::Span StridedLayout::span(std::size_t itemsize) const noexcept {
  if (size() == 0) return {0, 0};
  Span result{0, static_cast<std::int64_t>(itemsize)};
  for (int d = 0; d < _ndim; ++d) (stride(d) < 0 ? result.first : result.last) += (extent(d) - 1) * stride(d);
  return result;
}

std::int64_t StridedLayout::slice(int dimension, Slice const& range) {
  check_dimension(dimension, _ndim);
  if (range.step == 0) throw ValueError("the step of a slice must not be 0");
  std::int64_t const extent = this->extent(dimension);
  // Negative steps go from the last element to before the first, like Python's.
  std::int64_t const lowest = range.step > 0 ? 0 : -1;
  std::int64_t const highest = range.step > 0 ? extent : extent - 1;
  auto const cut = [&](std::int64_t index) { return std::clamp(index < 0 ? index + extent : index, lowest, highest); };
  std::int64_t const start = range.start ? cut(*range.start) : range.step > 0 ? lowest : highest;
  std::int64_t const stop = range.stop ? cut(*range.stop) : range.step > 0 ? highest : lowest;
  std::int64_t const stride = this->stride(dimension);
  bool const has_elements = size() != 0;
  std::int64_t count = 0;
  // Unsigned: the least integer has no negative.
  std::uint64_t const step = range.step > 0 ? static_cast<std::uint64_t>(range.step)
                                            : std::uint64_t{0} - static_cast<std::uint64_t>(range.step);
  if (range.step > 0 ? start < stop : stop < start) {
    auto const distance = static_cast<std::uint64_t>(range.step > 0 ? stop - start : start - stop);
    count = static_cast<std::int64_t>((distance - 1) / step + 1);
  }
  _shape[at(dimension)] = count;
  // Like NumPy, even for one element.
  if (count > 0) _strides[at(dimension)] = times_or_zero(stride, range.step);
  return count > 0 && has_elements ? start * stride : 0;
}

std::int64_t StridedLayout::select(int dimension, std::int64_t index) {
  check_dimension(dimension, _ndim);
  std::int64_t const extent = this->extent(dimension);
  if (index < -extent || index >= extent)
    throw IndexError("index " + std::to_string(index) + " is outside dimension " + std::to_string(dimension) + " of " +
                     shape_text(shape()));
  std::int64_t const offset = size() == 0 ? 0 : (index < 0 ? index + extent : index) * stride(dimension);
  erase(dimension);
  return offset;
}

void StridedLayout::insert(int dimension) {
  check_dimension(dimension, _ndim + 1);
  check_ndim(static_cast<std::size_t>(_ndim) + 1);
  for (int d = _ndim; d > dimension; --d) {
    _shape[at(d)] = _shape[at(d - 1)];
    _strides[at(d)] = _strides[at(d - 1)];
  }
  _shape[at(dimension)] = 1;
  _strides[at(dimension)] = 0;
  ++_ndim;
}

void StridedLayout::transpose(std::span<int const> axes) {
  StridedLayout result = *this;
  if (axes.empty() && _ndim > 0) {
    for (int d = 0; d < _ndim; ++d) {
      result._shape[at(d)] = extent(_ndim - 1 - d);
      result._strides[at(d)] = stride(_ndim - 1 - d);
    }
  } else {
    std::array<bool, max_ndim> seen{};
    bool good = std::cmp_equal(axes.size(), _ndim);
    for (std::size_t i = 0; good && i < axes.size(); ++i) {
      int const axis = axes[i] < 0 ? axes[i] + _ndim : axes[i];
      good = axis >= 0 && axis < _ndim && !std::exchange(seen[at(axis)], true);
      if (!good) break;
      result._shape[i] = extent(axis);
      result._strides[i] = stride(axis);
    }
    if (!good) throw ValueError("axes must name each of the " + std::to_string(_ndim) + " dimensions once");
  }
  *this = result;
}

bool StridedLayout::reshape(Extents wanted, std::size_t itemsize) {
  check_ndim(wanted.size());
  std::array<std::int64_t, max_ndim> shape{};
  std::ranges::copy(wanted, shape.begin());
  std::span<std::int64_t> const target(shape.data(), wanted.size());
  auto const refuse = [&] {
    throw ValueError("shape " + shape_text(this->shape()) + " has " + std::to_string(size()) +
                     " elements; it cannot be seen as " + shape_text(wanted));
  };
  if (auto const unknown = std::ranges::find(target, -1); unknown != target.end()) {
    *unknown = 1;
    if (std::ranges::find(target, -1) != target.end()) throw ValueError("only one extent of a shape can be -1");
    std::int64_t const others = checked_size(target);
    if (others == 0 || size() % others != 0) refuse();
    *unknown = size() / others;
  }
  if (checked_size(target) != size()) refuse();
  StridedLayout result;
  if (size() == 0 || is_contiguous(itemsize)) {
    *this = dense(target, itemsize);
    return true;
  }
  result._ndim = static_cast<int>(target.size());
  std::ranges::copy(target, result._shape.begin());
  // Matches groups of old and new dimensions of equal size. Each old group needs a common stride.
  StridedLayout old;
  for (int d = 0; d < _ndim; ++d) {
    if (extent(d) == 1) continue;
    old._shape[at(old._ndim)] = extent(d);
    old._strides[at(old._ndim++)] = stride(d);
  }
  int from = 0;
  std::size_t to = 0;
  while (from < old._ndim) {
    int from_end = from;
    std::size_t to_end = to;
    std::int64_t from_size = old.extent(from_end++);
    std::int64_t to_size = shape[to_end++];
    while (from_size != to_size) {
      if (from_size < to_size)
        from_size *= old.extent(from_end++);
      else
        to_size *= shape[to_end++];
    }
    for (int d = from; d + 1 < from_end; ++d) {
      std::int64_t whole = 0;
      if (__builtin_mul_overflow(old.stride(d + 1), old.extent(d + 1), &whole) || old.stride(d) != whole) return false;
    }
    std::int64_t stride = old.stride(from_end - 1);
    for (std::size_t d = to_end; d-- > to;) {
      result._strides[d] = stride;
      stride = times_or_zero(stride, shape[d]);
    }
    from = from_end;
    to = to_end;
  }
  for (; to < target.size(); ++to) result._strides[to] = static_cast<std::int64_t>(itemsize);
  *this = result;
  return true;
}

void StridedLayout::broadcast_to(Extents wanted) {
  check_ndim(wanted.size());
  checked_size(wanted);
  int const added = static_cast<int>(wanted.size()) - _ndim;
  StridedLayout result;
  result._ndim = static_cast<int>(wanted.size());
  std::ranges::copy(wanted, result._shape.begin());
  std::fill_n(result._strides.begin(), wanted.size(), 0);
  for (int d = 0; d < _ndim; ++d) {
    std::int64_t const target = added < 0 ? -1 : wanted[at(d + added)];
    if (extent(d) == target)
      result._strides[at(d + added)] = stride(d);
    else if (extent(d) != 1 || target < 0)
      throw ValueError("shape " + shape_text(shape()) + " cannot be broadcast to " + shape_text(wanted));
  }
  *this = result;
}

void StridedLayout::check_dimension(int dimension, int end) const {
  if (dimension < 0 || dimension >= end)
    throw IndexError("there is no dimension " + std::to_string(dimension) + " in a view of shape " +
                     shape_text(shape()));
}

void StridedLayout::erase(int dimension) noexcept {
  for (int d = dimension; d + 1 < _ndim; ++d) {
    _shape[at(d)] = _shape[at(d + 1)];
    _strides[at(d)] = _strides[at(d + 1)];
  }
  --_ndim;
}

bool operator==(StridedLayout const& left, StridedLayout const& right) noexcept {
  return std::ranges::equal(left.shape(), right.shape()) && std::ranges::equal(left.strides(), right.strides());
}

}  // namespace memarray
