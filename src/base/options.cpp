#include <memarray/base/errors.hpp>
#include <memarray/base/options.hpp>

#include <string>
#include <type_traits>

namespace memarray {

std::string_view to_string(EscapedViews policy) noexcept {
  switch (policy) {
    case EscapedViews::snapshot: return "snapshot";
    case EscapedViews::error: return "error";
    case EscapedViews::alias: break;
  }
  return "alias";
}

EscapedViews escaped_views_from_string(std::string_view word) {
  for (EscapedViews policy : {EscapedViews::snapshot, EscapedViews::error, EscapedViews::alias})
    if (word == to_string(policy)) return policy;
  throw ValueError("escaped_views is 'snapshot', 'error' or 'alias', not '" + std::string(word) + "'");
}

// Usable while the process starts and exits.
constinit Options detail::process_options;
static_assert(std::is_trivially_destructible_v<Options>);

}  // namespace memarray
