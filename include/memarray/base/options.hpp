#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <cstddef>
#include <string_view>

namespace memarray {

/// The policy for escaped views at their array's next use.
enum class EscapedViews : int {
  snapshot,  ///< the view keeps the memory, the array gets fresh memory
  error,     ///< writes are refused until the last view is released
  alias,     ///< the view still shows the array
};

[[nodiscard]] MEMARRAY_API std::string_view to_string(EscapedViews policy) noexcept;
/// Throws `ValueError` for other words.
[[nodiscard]] MEMARRAY_API EscapedViews escaped_views_from_string(std::string_view word);

/// Process-wide settings, read at each use. Any thread may set them.
struct Options {
  std::atomic<int> threads{0};                                      ///< of a parallel loop; 0: see `threads()`
  std::atomic<std::size_t> pool_limit{std::size_t{1} << 30};        ///< bytes that a `PoolingAdaptor` keeps by default
  std::atomic<EscapedViews> escaped_views{EscapedViews::snapshot};  ///< of arrays created later
  std::atomic<bool> trace_leases{false};                            ///< record where leases open, for `LockError`
};

namespace detail {
extern MEMARRAY_API Options process_options;
}

/// Returns the settings, usable before `main` and at exit.
[[nodiscard]] inline Options& options() noexcept { return detail::process_options; }

}  // namespace memarray
