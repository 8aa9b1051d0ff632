#pragma once

#include <memarray/base/config.hpp>

#include <chrono>
#include <optional>

namespace memarray {

/// Time to wait for a lock; `std::nullopt`: until it is free or Ctrl-C is pressed.
using Timeout = std::optional<std::chrono::nanoseconds>;
inline constexpr std::chrono::nanoseconds no_wait{0};

namespace detail {

/// The end of a time-out that starts at construction. More than a century is infinite.
class MEMARRAY_API Deadline {
 public:
  explicit Deadline(Timeout timeout);

  /// Returns the time left: 0 if none, `std::nullopt` if infinite.
  [[nodiscard]] Timeout rest() const;

 private:
  Timeout _timeout;
  std::chrono::steady_clock::time_point _end{};
};

}  // namespace detail
}  // namespace memarray
