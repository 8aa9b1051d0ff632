#pragma once

#include <memarray/base/config.hpp>

#include <cstdint>

namespace memarray {

/// What a process that has died held of an array in shared memory.
struct Death {
  enum class Held : std::uint8_t { write, read, exports };
  int pid;
  Held held;
};

namespace detail {

/// A process of this host in one number: its pid and when it started, so that a later process with the same pid is
/// another one. Never 0.
using ProcessStamp = std::uint64_t;

inline constexpr int start_bits = 42;

[[nodiscard]] constexpr int pid_of(ProcessStamp stamp) noexcept { return static_cast<int>(stamp >> start_bits); }
/// `started`: clock ticks after the machine's start; 0 if that cannot be known.
[[nodiscard]] constexpr ProcessStamp stamp_of(int pid, std::uint64_t started) noexcept {
  return static_cast<std::uint64_t>(pid) << start_bits | (started & ((std::uint64_t{1} << start_bits) - 1));
}

[[nodiscard]] MEMARRAY_API ProcessStamp this_process() noexcept;
/// False only for a process that has certainly ended, one that nobody has waited for included. One that this process
/// may not look at counts as alive.
[[nodiscard]] MEMARRAY_API bool is_alive(ProcessStamp stamp) noexcept;
/// The same for all processes that can tell each other's stamps: those of one pid and time namespace.
[[nodiscard]] MEMARRAY_API std::uint64_t process_namespace() noexcept;

}  // namespace detail
}  // namespace memarray
