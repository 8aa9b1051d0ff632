#pragma once

#include <memarray/base/config.hpp>

#include <cstdint>

namespace memarray {

/// 0 in the process that loaded the library, one more in each child forked from it: what was counted by threads
/// of an older generation will never be uncounted.
[[nodiscard]] MEMARRAY_API std::uint32_t fork_generation() noexcept;

}  // namespace memarray
