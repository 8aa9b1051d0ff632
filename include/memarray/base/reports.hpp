#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace memarray {

/// Process-wide counters, which only grow; `memarray.stats()` in Python.
struct Counters {
  std::atomic<std::int64_t> copies{0};                 ///< copies of an array's contents that were reported
  std::atomic<std::int64_t> copied_bytes{0};           ///< their bytes
  std::atomic<std::int64_t> waits{0};                  ///< blocking waits that were reported
  std::atomic<std::int64_t> to_device_bytes{0};        ///< of those copied bytes, from the host to a device
  std::atomic<std::int64_t> to_host_bytes{0};          ///< from a device to the host
  std::atomic<std::int64_t> between_devices_bytes{0};  ///< from one device to another
  std::atomic<std::int64_t> versions{0};               ///< times an array went on in fresh memory under kept views
};

[[nodiscard]] MEMARRAY_API Counters& counters() noexcept;

/// A copy or a wait that nobody asked for by name, or that somebody asked for: either way it is told. Or what was left
/// by another process that died.
struct Report {
  enum class Kind : int { copy, wait, death } kind;
  std::int64_t bytes;  ///< of a copy
  std::string message;
};

/// Counts the copy and queues its record; "copied <bytes> bytes: <why>".
MEMARRAY_API void report_copy(std::int64_t bytes, std::string const& why);
MEMARRAY_API void report_wait(std::string const& why);
/// Queues its record: which process has died, and what it had held.
MEMARRAY_API void report_death(std::string const& what);

namespace detail {
extern MEMARRAY_API std::atomic<bool> any_reports;
}

/// One relaxed load: whether `take_reports` would return any.
[[nodiscard]] inline bool reports_pending() noexcept { return detail::any_reports.load(std::memory_order_relaxed); }
/// Empties the queue. It keeps the newest 10,000 records, so that a program that never asks does not grow.
[[nodiscard]] MEMARRAY_API std::vector<Report> take_reports();

}  // namespace memarray
