#pragma once

#include <memarray/base/config.hpp>

#include <cstdint>

namespace memarray {

/// A hold on a shared-memory array, abandoned by a process that exited.
struct Death {
  enum class Held : std::uint8_t { write, read, exports };
  int pid;  ///< 0 if unknown
  Held held;
};

namespace detail {

/// A process's pid and start time, as pids are reused. Never 0.
using ProcessStamp = std::uint64_t;

inline constexpr int start_bits = 42;

[[nodiscard]] constexpr int pid_of(ProcessStamp stamp) noexcept { return static_cast<int>(stamp >> start_bits); }
/// `started`: clock ticks since boot; 0 if unknown.
[[nodiscard]] constexpr ProcessStamp stamp_of(int pid, std::uint64_t started) noexcept {
  return static_cast<std::uint64_t>(pid) << start_bits | (started & ((std::uint64_t{1} << start_bits) - 1));
}

[[nodiscard]] MEMARRAY_API ProcessStamp this_process() noexcept;
/// True unless the process has certainly ended, as zombies have.
[[nodiscard]] MEMARRAY_API bool is_alive(ProcessStamp stamp) noexcept;
/// Returns a number for the pid and time namespaces, within which stamps are comparable.
[[nodiscard]] MEMARRAY_API std::uint64_t process_namespace() noexcept;

}  // namespace detail
}  // namespace memarray
