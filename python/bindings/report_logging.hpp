#pragma once

#include <memarray/base/reports.hpp>

namespace memarray::python {

/// Writes queued reports to the loggers `memarray.copies`, `.waits` and `.deaths`. Keeps a pending error.
void log_pending_reports() noexcept;

inline void log_reports() noexcept {
  if (reports_pending()) [[unlikely]]
    log_pending_reports();
}

}  // namespace memarray::python
