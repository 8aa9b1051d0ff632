#pragma once

#include "fuzz.hpp"
#include "strided/strided_test.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace memarray::fuzz {

using test::Numbers;
using test::View;
using Wide = __int128;

inline constexpr std::int64_t most_elements = 3000;

/// A layout as a list: the place of each element, in C order of the indices.
struct Places {
  Numbers shape;
  Numbers places;
};

inline Wide product(std::span<std::int64_t const> shape) {
  Wide result = 1;
  bool empty = false;
  for (std::int64_t const extent : shape) {
    empty = empty || extent == 0;
    if (extent > 1 && result < (Wide{1} << 64)) result *= extent;
  }
  return empty ? 0 : result;
}

/// Keeps one or several indices of a dimension; removes the dimension if `drop`.
inline Places keep(Places const& from, std::size_t dimension, Numbers const& indices, bool drop) {
  Places result{from.shape, {}};
  result.shape[dimension] = static_cast<std::int64_t>(indices.size());
  Numbers old(from.shape.size());
  View::for_each_index(result.shape, [&](Numbers const& index) {
    old = index;
    old[dimension] = indices[static_cast<std::size_t>(index[dimension])];
    std::int64_t linear = 0;
    for (std::size_t d = 0; d < old.size(); ++d) linear = linear * from.shape[d] + old[d];
    result.places.push_back(from.places[static_cast<std::size_t>(linear)]);
  });
  if (drop) result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(dimension));
  return result;
}

/// Applies Python's rule for slices, step by step.
inline Numbers indices_of(Slice const& range, std::int64_t extent) {
  auto const place = [&](std::optional<std::int64_t> const& given, Wide otherwise, Wide lowest, Wide highest) {
    if (!given) return otherwise;
    Wide const index = *given < 0 ? Wide{*given} + extent : Wide{*given};
    return std::clamp(index, lowest, highest);
  };
  Numbers result;
  if (range.step > 0) {
    Wide const stop = place(range.stop, extent, 0, extent);
    for (Wide i = place(range.start, 0, 0, extent); i < stop; i += range.step)
      result.push_back(static_cast<std::int64_t>(i));
  } else {
    Wide const stop = place(range.stop, -1, -1, extent - 1);
    for (Wide i = place(range.start, extent - 1, -1, extent - 1); i > stop; i += range.step)
      result.push_back(static_cast<std::int64_t>(i));
  }
  return result;
}

inline Places transposed(Places const& from, std::vector<int> const& axes) {
  Places result;
  for (int const axis : axes) result.shape.push_back(from.shape[static_cast<std::size_t>(axis)]);
  Numbers old(from.shape.size());
  View::for_each_index(result.shape, [&](Numbers const& index) {
    for (std::size_t d = 0; d < axes.size(); ++d) old[static_cast<std::size_t>(axes[d])] = index[d];
    std::int64_t linear = 0;
    for (std::size_t d = 0; d < old.size(); ++d) linear = linear * from.shape[d] + old[d];
    result.places.push_back(from.places[static_cast<std::size_t>(linear)]);
  });
  return result;
}

inline Places broadcast(Places const& from, Numbers const& shape) {
  Places result{shape, {}};
  std::size_t const added = shape.size() - from.shape.size();
  View::for_each_index(shape, [&](Numbers const& index) {
    std::int64_t linear = 0;
    for (std::size_t d = 0; d < from.shape.size(); ++d)
      linear = linear * from.shape[d] + (from.shape[d] == 1 ? 0 : index[d + added]);
    result.places.push_back(from.places[static_cast<std::size_t>(linear)]);
  });
  return result;
}

/// True if the layout can be listed. An empty layout may still have a huge dimension, so each extent is checked.
inline bool is_small(StridedLayout const& layout) {
  return layout.size() <= most_elements &&
         std::ranges::all_of(layout.shape(), [](std::int64_t extent) { return extent <= most_elements; });
}

/// A layout, with the list of places it was derived from if that is small enough.
class Sliced {
 public:
  Sliced(StridedLayout const& layout, std::size_t itemsize) : _layout(layout), _itemsize(itemsize) {
    if (!is_small(layout)) return;
    _places = Places{{layout.shape().begin(), layout.shape().end()}, {}};
    View::for_each_index(layout.shape(), [&](Numbers const& index) { _places->places.push_back(place(index)); });
  }

  [[nodiscard]] StridedLayout const& layout() const { return _layout; }

  void change(Input& input) {
    StridedLayout const before = _layout;
    StridedLayout::Span const span = before.span(_itemsize);
    std::int64_t moved = 0;
    try {
      moved = change_once(input);
    } catch (std::logic_error const&) {
      check(_layout == before, "a layout that was refused a change is another");
      return;
    } catch (std::runtime_error const&) {
      check(_layout == before, "a layout that was refused a change is another");
      return;
    }
    if (_layout.size() > 0) {
      check(moved >= span.first && moved < span.last, "the first element is none of those before");
      StridedLayout::Span const now = _layout.span(_itemsize);
      check(Wide{moved} + now.first >= span.first && Wide{moved} + now.last <= span.last, "elements that were not");
    }
    _base += moved;
    if (!is_small(_layout)) _places.reset();
    compare();
  }

  /// Compares all properties that the layout reports.
  void compare() const {
    Wide const size = product(_layout.shape());
    check(size == _layout.size(), "another size");
    Wide first = 0;
    auto last = static_cast<Wide>(_itemsize);
    for (int d = 0; d < _layout.ndim(); ++d)
      (_layout.stride(d) < 0 ? first : last) += (_layout.extent(d) - 1) * Wide{_layout.stride(d)};
    if (size == 0) first = last = 0;
    StridedLayout::Span const span = _layout.span(_itemsize);
    check(span.first == first && span.last == last, "another span");
    bool const contiguous = _layout.is_contiguous(_itemsize);
    static_cast<void>(_layout.is_fortran_contiguous(_itemsize));
    bool const overlaps = _layout.may_overlap(_itemsize);
    if (!_places) return;
    check(std::ranges::equal(_layout.shape(), _places->shape), "another shape");
    std::size_t i = 0;
    bool dense = true;
    View::for_each_index(_layout.shape(), [&](Numbers const& index) {
      check(_base + place(index) == _places->places[i], "another element");
      dense = dense && place(index) == static_cast<std::int64_t>(i * _itemsize);
      ++i;
    });
    check(dense == contiguous, "contiguous, or not");
    Numbers sorted = _places->places;
    std::ranges::sort(sorted);
    for (i = 1; i < sorted.size() && !overlaps; ++i)
      check(sorted[i] - sorted[i - 1] >= static_cast<std::int64_t>(_itemsize), "an overlap that was not found");
  }

 private:
  [[nodiscard]] std::int64_t place(Numbers const& index) const {
    std::int64_t result = 0;
    for (int d = 0; d < _layout.ndim(); ++d) result += index[static_cast<std::size_t>(d)] * _layout.stride(d);
    return result;
  }

  std::int64_t change_once(Input& input) {
    std::int64_t const kind = input.below(6);
    int const dimension = static_cast<int>(input.below(_layout.ndim() + 2)) - 1;
    auto const d = static_cast<std::size_t>(dimension);
    switch (kind) {
      case 0: {
        Slice range;
        if (input.flag()) range.start = input.number();
        if (input.flag()) range.stop = input.number();
        if (input.flag()) range.step = input.number();
        std::int64_t const moved = _layout.slice(dimension, range);
        if (_places) _places = keep(*_places, d, indices_of(range, _places->shape[d]), false);
        return moved;
      }
      case 1: {
        std::int64_t const index = input.number();
        std::int64_t const moved = _layout.select(dimension, index);
        if (_places) _places = keep(*_places, d, {index < 0 ? index + _places->shape[d] : index}, true);
        return moved;
      }
      case 2:
        _layout.insert(dimension);
        if (_places) _places->shape.insert(_places->shape.begin() + dimension, 1);
        return 0;
      case 3: return transpose(input), 0;
      case 4: return reshape(input), 0;
      default: return broadcast_to(input), 0;
    }
  }

  void transpose(Input& input) {
    std::vector<int> axes;
    for (int d = 0; d < _layout.ndim(); ++d) axes.push_back(d);
    for (std::size_t d = axes.size(); d > 1; --d)
      std::swap(axes[d - 1], axes[static_cast<std::size_t>(input.below(static_cast<std::int64_t>(d)))]);
    std::vector<int> given = axes;
    if (!given.empty() && input.one_in(8)) given[0] = input.raw<std::int8_t>();
    if (!given.empty() && input.flag()) given.back() -= _layout.ndim();
    _layout.transpose(given);
    for (std::size_t d = 0; d < axes.size(); ++d) axes[d] = given[d] < 0 ? given[d] + _layout.ndim() : given[d];
    if (_places && !axes.empty()) _places = transposed(*_places, axes);
  }

  Numbers shape(Input& input) const {
    Numbers shape(_layout.shape().begin(), _layout.shape().end());
    if (input.one_in(4)) {
      shape.resize(static_cast<std::size_t>(input.below(18)));
      for (std::int64_t& extent : shape) extent = input.number();
      return shape;
    }
    // Shapes that may be valid: one-element dimensions grown, dimensions merged or divided, or one added in front.
    for (std::int64_t& extent : shape)
      if (extent == 1 && input.flag()) extent = input.below(5);
    if (shape.size() > 1 && input.flag()) {
      auto const d = static_cast<std::size_t>(input.below(static_cast<std::int64_t>(shape.size()) - 1));
      if (!__builtin_mul_overflow(shape[d], shape[d + 1], &shape[d]))
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    }
    for (std::size_t d = 0; d < shape.size() && input.flag(); ++d) {
      std::int64_t const part = 1 + input.below(5);
      if (shape[d] % part == 0 && shape.size() < 17) {
        shape[d] /= part;
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(d), part);
      }
    }
    if (input.one_in(4)) shape.insert(shape.begin(), input.below(5));
    if (!shape.empty() && input.one_in(8)) shape[static_cast<std::size_t>(input.below(255)) % shape.size()] = -1;
    return shape;
  }

  void reshape(Input& input) {
    Numbers const wanted = shape(input);
    if (!_layout.reshape(wanted, _itemsize)) {
      check(!_layout.is_contiguous(_itemsize), "what is dense has every shape");
      return;
    }
    // Reshaping keeps the places in C order. An empty layout has only its shape to check.
    if (_places) _places->shape = {_layout.shape().begin(), _layout.shape().end()};
    for (std::size_t d = 0; d < wanted.size(); ++d)
      check(wanted[d] == -1 || wanted[d] == _layout.extent(static_cast<int>(d)), "not the shape that was asked for");
  }

  void broadcast_to(Input& input) {
    Numbers const wanted = shape(input);
    _layout.broadcast_to(wanted);
    if (_places && is_small(_layout)) _places = broadcast(*_places, wanted);
  }

  StridedLayout _layout;
  std::size_t _itemsize;
  std::int64_t _base = 0;
  std::optional<Places> _places;
};

}  // namespace memarray::fuzz
