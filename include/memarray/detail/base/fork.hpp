#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <cstdint>

namespace memarray::detail {

/// Returns 0 in the process that loaded the library, one more in each forked child. There, counts of the parent's other
/// threads never fall.
[[nodiscard]] MEMARRAY_API std::uint32_t fork_generation() noexcept;
/// `fork_generation()` for inline reads; only a new child's single thread writes it.
extern MEMARRAY_API std::atomic<std::uint32_t> current_fork_generation;

}  // namespace memarray::detail
