#pragma once

#include <memarray/detail/memory/pending_work.hpp>

#include <cstdint>

namespace memarray::detail {

/// A holder's use of an array's elements.
enum class AccessMode : std::uint8_t {
  read,
  write,      ///< may change any element; starts from a copy under escaped views (snapshot policy)
  overwrite,  ///< replaces all elements; needs no old contents
  update,     ///< computes each element from its old value
};

[[nodiscard]] constexpr Use use_of(AccessMode mode) noexcept {
  return mode == AccessMode::read ? Use::read : Use::write;
}

}  // namespace memarray::detail
