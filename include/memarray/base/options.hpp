#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <cstddef>
#include <string_view>

namespace memarray {

/// What happens to views that outlive their lease when the array is used next.
enum class EscapedViews : int {
  snapshot,  ///< the view keeps the old memory, the array goes on in fresh memory
  error,     ///< writing is refused until the last view is gone
  alias,     ///< the view goes on showing the array's memory
};

/// "snapshot", "error" or "alias".
[[nodiscard]] MEMARRAY_API std::string_view to_string(EscapedViews policy) noexcept;
/// Throws `ValueError`, listing the words, for any other.
[[nodiscard]] MEMARRAY_API EscapedViews escaped_views_from_string(std::string_view word);

/// Process-wide settings, read at each use. Every member may be set at any time, from any thread.
struct Options {
  std::atomic<int> threads{0};  ///< host threads of a parallel loop; 0: one per hardware thread
  std::atomic<std::size_t> pool_limit{std::size_t{1} << 30};        ///< bytes that the host pool may keep
  std::atomic<EscapedViews> escaped_views{EscapedViews::snapshot};  ///< of arrays made from now on
  std::atomic<bool> trace_leases{false};  ///< remember where each lease was opened, for `LockError`s
};

namespace detail {
extern MEMARRAY_API Options process_options;
}

/// The one instance, ready before any code runs and never destroyed. Inline, as every lease looks at it.
[[nodiscard]] inline Options& options() noexcept { return detail::process_options; }

}  // namespace memarray
