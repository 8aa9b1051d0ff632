#pragma once

#include <memarray/base/dtype.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <cstddef>

namespace memarray::detail {

/// Elements that a kernel reads, aligned for their dtype. `data`: the element at indices 0.
struct StridedSource {
  std::byte const* data;
  DType const& dtype;
  StridedLayout const& layout;
};

/// Elements that a kernel writes: distinct at distinct indices, unless the kernel allows otherwise.
struct StridedTarget {
  std::byte* data;
  DType const& dtype;
  StridedLayout const& layout;
};

}  // namespace memarray::detail
