#pragma once

#include <memarray/base/dtype.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <cstddef>

namespace memarray::detail {

/// Elements that a kernel reads, aligned as their dtype requires. `data` is the element with all indices 0.
struct StridedSource {
  std::byte const* data;
  DType const& dtype;
  StridedLayout const& layout;
};

/// Elements that a kernel writes. Indices address distinct elements, unless the kernel allows otherwise.
struct StridedTarget {
  std::byte* data;
  DType const& dtype;
  StridedLayout const& layout;
};

}  // namespace memarray::detail
