#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <cstddef>
#include <string_view>

namespace memarray {

/// The policy for escaped views at the next use of their array.
enum class EscapedViews : int {
  snapshot,  ///< the view keeps the old memory; the array continues in fresh memory
  error,     ///< writing is refused until the last view is released
  alias,     ///< the view continues to show the array's memory
};

/// Returns "snapshot", "error" or "alias".
[[nodiscard]] MEMARRAY_API std::string_view to_string(EscapedViews policy) noexcept;
/// Parses "snapshot", "error" or "alias". Throws `ValueError`, which lists them, for any other word.
[[nodiscard]] MEMARRAY_API EscapedViews escaped_views_from_string(std::string_view word);

/// The process-wide settings, read at each use. Any thread may set a member at any time.
struct Options {
  std::atomic<int> threads{0};  ///< host threads of a parallel loop; 0: one per CPU of the process
  std::atomic<std::size_t> pool_limit{std::size_t{1} << 30};        ///< bytes that the host pool may keep
  std::atomic<EscapedViews> escaped_views{EscapedViews::snapshot};  ///< of arrays created from now on
  std::atomic<bool> trace_leases{false};  ///< record where each lease was opened, for `LockError` messages
};

namespace detail {
extern MEMARRAY_API Options process_options;
}

/// Returns the one instance, initialized before any code runs and never destroyed. Inline: every lease reads it.
[[nodiscard]] inline Options& options() noexcept { return detail::process_options; }

}  // namespace memarray
