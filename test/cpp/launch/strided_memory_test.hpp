#pragma once

#include <memarray/base/strided_indexer.hpp>
#include <memarray/detail/launch/device_loop.hpp>
#include <memarray/detail/launch/kernel_argument.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace memarray::test {

template <int ndim>
using Numbers = std::array<std::int64_t, static_cast<std::size_t>(ndim)>;

/// Calls `visit(indices)` for each index of a box, in C order, by nested loops.
template <std::size_t d = 0, std::size_t ndim, class Visit>
void visit_box(std::array<std::int64_t, ndim> const& begin, std::array<std::int64_t, ndim> const& extents,
               Visit const& visit, std::array<std::int64_t, ndim> indices = {}) {
  if constexpr (d == ndim) {
    visit(indices);
  } else {
    for (std::int64_t i = 0; i < extents[d]; ++i) {
      indices[d] = begin[d] + i;
      visit_box<d + 1>(begin, extents, visit, indices);
    }
  }
}

struct Chance {
  std::mt19937 random{20261128};

  std::int64_t below(std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random); }
};

/// Memory with elements 0, 1, 2, … modulo 100, some of which a random layout addresses.
template <class T, int ndim>
class StridedMemory {
 public:
  enum class Strides {
    dense,  ///< in C order
    apart,  ///< in any order and direction; indices do not share elements
    any,    ///< also 0
  };

  StridedMemory(Chance& chance, Numbers<ndim> const& shape, Strides kind) : extents(shape) {
    std::array<std::size_t, static_cast<std::size_t>(ndim)> order{};
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = order.size() - 1 - d;
    if (kind != Strides::dense) std::shuffle(order.begin(), order.end(), chance.random);
    std::int64_t room = 1;
    for (std::size_t const d : order) {
      if (kind == Strides::any && chance.below(3) == 0) continue;
      strides[d] = kind == Strides::dense ? room : room * (1 + chance.below(2));
      room = strides[d] * extents[d];
      if (kind == Strides::dense || chance.below(2) == 0) continue;
      strides[d] = -strides[d];
      _first -= strides[d] * (extents[d] - 1);
    }
    elements.resize(static_cast<std::size_t>(room));
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(i % 100);
  }

  /// Returns the position in `elements`.
  [[nodiscard]] std::size_t at(Numbers<ndim> const& indices) const {
    std::int64_t position = _first;
    for (std::size_t d = 0; d < indices.size(); ++d) position += indices[d] * strides[d];
    return static_cast<std::size_t>(position);
  }
  [[nodiscard]] StridedIndexer<T, ndim> indexer() {
    return {elements.data() + _first, detail::to_indices<std::int64_t, ndim>(extents),
            detail::to_indices<std::int64_t, ndim>(strides)};
  }
  [[nodiscard]] StridedIndexer<T const, ndim> reader() {
    auto const own = indexer();
    return {own.pointer, own.extents, own.strides};
  }
  /// Returns an argument that reads `source` and writes `elements`; requires dense memory.
  template <class E = T>
  [[nodiscard]] detail::ElementArgument<E, ndim> element(E const* source) {
    detail::ElementArgument<E, ndim> argument{source, elements.data(), {}};
    for (std::size_t d = 0; d < strides.size(); ++d) argument.strides[d] = strides[d];
    return argument;
  }

  Numbers<ndim> extents;
  Numbers<ndim> strides{};
  std::vector<T> elements;

 private:
  std::int64_t _first = 0;
};

/// A shape, and a box in it.
template <int ndim>
struct ChosenBox {
  Numbers<ndim> shape;
  Numbers<ndim> begin{};
  Numbers<ndim> extents;

  ChosenBox(Chance& chance, bool is_whole) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      shape[d] = extents[d] = 1 + chance.below(ndim < 3 ? 13 : 5);
      if (is_whole) continue;
      begin[d] = chance.below(shape[d]);
      extents[d] = 1 + chance.below(shape[d] - begin[d]);
    }
  }
  [[nodiscard]] detail::LaunchBox<ndim> launched() const {
    detail::LaunchBox<ndim> box{};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      box.begin[d] = begin[d];
      box.extents[d] = extents[d];
    }
    return box;
  }
};

}  // namespace memarray::test
