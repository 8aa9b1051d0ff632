#pragma once

#include <memarray/base/options.hpp>
#include <memarray/memory/resource.hpp>

#include <optional>

namespace memarray {

/// Options of a new array.
struct ArrayOptions {
  bool uninitialized = false;                   ///< leave elements uninitialized instead of `T()`
  std::optional<EscapedViews> escaped_views{};  ///< by default `options().escaped_views`
  std::optional<MemoryResource> resource{};     ///< of memory that the host reaches; by default pooled
};

}  // namespace memarray
