#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <cstdint>

namespace memarray {

/// Returns 0 in the process that loaded the library, and one more in each child forked from it. Threads of an older
/// generation do not exist here, so nothing that they counted will be decremented.
[[nodiscard]] MEMARRAY_API std::uint32_t fork_generation() noexcept;

namespace detail {
/// The value of `fork_generation()`, to read inline in lease paths. Written only by the single thread of a new child.
extern MEMARRAY_API std::atomic<std::uint32_t> current_fork_generation;
}  // namespace detail

}  // namespace memarray
