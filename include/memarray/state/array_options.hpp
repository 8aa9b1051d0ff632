#pragma once

#include <memarray/base/options.hpp>
#include <memarray/memory/resource.hpp>

#include <optional>

namespace memarray {

/// How a new array is made.
struct ArrayOptions {
  bool uninitialized = false;                   ///< leave the elements as the memory comes, instead of `T()`
  std::optional<EscapedViews> escaped_views{};  ///< its policy; by default `options().escaped_views`
  std::optional<MemoryResource> resource{};  ///< of its host memory, which the host reaches; by default the pooled one
};

}  // namespace memarray
