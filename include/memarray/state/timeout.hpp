#pragma once

#include <memarray/base/config.hpp>

#include <chrono>
#include <optional>

namespace memarray {

/// How long to wait for a lock: 0 (the default) not at all, `std::nullopt` until it is free or Ctrl-C is pressed.
using Timeout = std::optional<std::chrono::nanoseconds>;
inline constexpr std::chrono::nanoseconds no_wait{0};

namespace detail {

/// The end of a time-out that begins now. One beyond what the clock can count is none. Asks the clock only if there is
/// something to wait for.
class MEMARRAY_API Deadline {
 public:
  explicit Deadline(Timeout timeout);

  /// What is left: 0 when it has passed, `std::nullopt` if it never comes.
  [[nodiscard]] Timeout rest() const;

 private:
  Timeout _timeout;
  std::chrono::steady_clock::time_point _end{};
};

}  // namespace detail
}  // namespace memarray
