#pragma once

#include <memarray/base/config.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace memarray {

/// The process-wide counters, which only grow. Python: `memarray.stats()`.
struct Counters {
  std::atomic<std::int64_t> copies{0};                 ///< reported copies of an array's contents
  std::atomic<std::int64_t> copied_bytes{0};           ///< their bytes
  std::atomic<std::int64_t> waits{0};                  ///< reported blocking waits
  std::atomic<std::int64_t> to_device_bytes{0};        ///< part of `copied_bytes`: from the host to a device
  std::atomic<std::int64_t> to_host_bytes{0};          ///< part of `copied_bytes`: from a device to the host
  std::atomic<std::int64_t> between_devices_bytes{0};  ///< part of `copied_bytes`: from one device to another
  std::atomic<std::int64_t> versions{0};               ///< times an array with escaped views continued in fresh memory
};

[[nodiscard]] MEMARRAY_API Counters& counters() noexcept;

/// One log record: a copy, a blocking wait, or a hold abandoned by a process that exited.
struct Report {
  enum class Kind : int { copy, wait, death } kind;
  std::int64_t bytes;  ///< of a copy; else 0
  std::string message;
};

/// Counts the copy and queues its record: "copied <bytes> bytes: <why>".
MEMARRAY_API void report_copy(std::int64_t bytes, std::string const& why);
/// Counts the blocking wait and queues its record: "waited: <why>".
MEMARRAY_API void report_wait(std::string const& why);
/// Queues a record of an abandoned hold. `what` names the process and its hold.
MEMARRAY_API void report_death(std::string const& what);

namespace detail {
extern MEMARRAY_API std::atomic<bool> any_reports;
}

/// True if `take_reports` would return records. Costs one relaxed load.
[[nodiscard]] inline bool reports_pending() noexcept { return detail::any_reports.load(std::memory_order_relaxed); }
/// Returns the queued records and empties the queue. The queue keeps only the newest 10,000, to bound its memory.
[[nodiscard]] MEMARRAY_API std::vector<Report> take_reports();

}  // namespace memarray
