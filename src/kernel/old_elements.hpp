#pragma once

#include <memarray/base/shape.hpp>
#include <memarray/detail/kernel/held_launch.hpp>
#include <memarray/detail/launch/launch_box.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace memarray::detail {

/// A copy of an `update` array's elements from old to fresh memory.
struct OldElements {
  std::byte const* source;
  std::byte* target;
  std::size_t itemsize;
  std::vector<std::int64_t> strides;  // in bytes

  void copy(BoxView const& box, std::int64_t begin, std::int64_t end) const {
    auto const last = static_cast<std::size_t>(box.ndim - 1);
    while (begin < end) {
      std::int64_t rest = begin;
      std::int64_t const column = rest % box.extents[last];
      std::int64_t offset = (box.begin[last] + column) * strides[last];
      rest /= box.extents[last];
      for (std::size_t d = last; d-- > 0; rest /= box.extents[d])
        offset += (box.begin[d] + rest % box.extents[d]) * strides[d];
      std::int64_t const count = std::min(end - begin, box.extents[last] - column);
      std::memcpy(target + offset, source + offset, static_cast<std::size_t>(count) * itemsize);
      begin += count;
    }
  }
};

inline OldElements old_elements_of(KernelHold const& hold) {
  OldElements result{hold.source(), hold.target(), hold.dtype().itemsize,
                     std::vector<std::int64_t>(hold.extents().size())};
  c_strides(hold.extents(), result.strides);
  for (std::int64_t& stride : result.strides) stride *= static_cast<std::int64_t>(result.itemsize);
  return result;
}

}  // namespace memarray::detail
