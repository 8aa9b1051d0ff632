#pragma once

#include <memarray/base/config.hpp>

#include <chrono>
#include <optional>

namespace memarray {

/// Time to wait for a lock: by default none; `std::nullopt`: until the lock is free or Ctrl-C is pressed.
using Timeout = std::optional<std::chrono::nanoseconds>;
inline constexpr std::chrono::nanoseconds no_wait{0};

namespace detail {

/// The end of a time-out from construction; infinite beyond a century. Reads the clock only if there is time to wait.
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
