#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <cstdint>

namespace memarray {

/// 0 in the process that loaded the library, one more in each child forked from it: what was counted by threads
/// of an older generation will never be uncounted.
[[nodiscard]] MEMARRAY_API std::uint32_t fork_generation() noexcept;

namespace detail {
/// `fork_generation()` as a number to read inline, for the paths of leases. Written in the child's one thread alone.
extern MEMARRAY_API std::atomic<std::uint32_t> current_fork_generation;
}  // namespace detail

}  // namespace memarray
