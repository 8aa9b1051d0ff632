#include <memarray/state/timeout.hpp>

#include <algorithm>

namespace memarray::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::hours century{24 * 365 * 100};

}  // namespace

Deadline::Deadline(Timeout timeout) : _timeout(timeout && *timeout <= century ? timeout : std::nullopt) {
  if (_timeout && *_timeout > no_wait) _end = Clock::now() + *_timeout;
}

Timeout Deadline::rest() const {
  if (!_timeout) return std::nullopt;
  if (*_timeout <= no_wait) return no_wait;
  return std::max<std::chrono::nanoseconds>(no_wait, _end - Clock::now());
}

}  // namespace memarray::detail
