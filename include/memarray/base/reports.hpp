#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace memarray {

/// Process-wide counters, which only grow. Python: `memarray.stats()`.
struct Counters {
  std::atomic<std::int64_t> copies{0};
  std::atomic<std::int64_t> copied_bytes{0};
  std::atomic<std::int64_t> waits{0};
  std::atomic<std::int64_t> to_device_bytes{0};        ///< part of `copied_bytes`
  std::atomic<std::int64_t> to_host_bytes{0};          ///< part of `copied_bytes`
  std::atomic<std::int64_t> between_devices_bytes{0};  ///< part of `copied_bytes`
  std::atomic<std::int64_t> versions{0};               ///< arrays that left their memory to escaped views
};

/// Returns the counts of this process.
[[nodiscard]] MEMARRAY_API Counters& counters() noexcept;

/// A log record: a copy, a blocking wait, or a hold abandoned by a process that exited.
struct Report {
  enum class Kind : int { copy, wait, death } kind;
  std::int64_t bytes;  ///< of a copy; else 0
  std::string message;
};

/// Counts, and queues "copied <bytes> bytes: <why>".
MEMARRAY_API void report_copy(std::int64_t bytes, std::string const& why);
/// Counts, and queues "waited: <why>".
MEMARRAY_API void report_wait(std::string const& why);
/// Queues a record; `what` names the process and its hold.
MEMARRAY_API void report_death(std::string const& what);

namespace detail {
extern MEMARRAY_API std::atomic<bool> any_reports;
}

/// True if records are queued.
[[nodiscard]] inline bool reports_pending() noexcept { return detail::any_reports.load(std::memory_order_relaxed); }
/// Returns and clears the queue, which keeps the newest 10,000 records.
[[nodiscard]] MEMARRAY_API std::vector<Report> take_reports();

}  // namespace memarray
