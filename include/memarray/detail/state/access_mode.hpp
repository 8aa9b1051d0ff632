#pragma once

#include <memarray/detail/memory/pending_work.hpp>

#include <cstdint>

namespace memarray::detail {

/// How the holder of an array uses its elements.
enum class AccessMode : std::uint8_t {
  read,       ///< reads elements
  write,      ///< may change any element; under the snapshot policy, starts from a copy if views have escaped
  overwrite,  ///< replaces all elements; needs no copy of the old contents
  update,     ///< computes each element from its own old value
};

/// Returns the use of the memory that pending work records.
[[nodiscard]] constexpr Use use_of(AccessMode mode) noexcept {
  return mode == AccessMode::read ? Use::read : Use::write;
}

}  // namespace memarray::detail
