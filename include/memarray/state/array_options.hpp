#pragma once

#include <memarray/base/options.hpp>
#include <memarray/memory/resource.hpp>

#include <optional>

namespace memarray {

/// Options of a new array.
struct ArrayOptions {
  bool uninitialized = false;                   ///< leave the elements uninitialised instead of `T()`
  std::optional<EscapedViews> escaped_views{};  ///< by default `options().escaped_views`
  std::optional<MemoryResource> resource{};     ///< of host memory that the host reaches; by default the pooled one
};

}  // namespace memarray
