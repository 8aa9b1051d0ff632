#pragma once

#include <memarray/memory/stream_uses.hpp>

// The end of work, where an event does not say it or another thread has to be told.
namespace memarray::detail {

/// Counts and reports a wait of the host.
void report_blocking(char const* site) noexcept;
/// What is not known to have ended by an event is waited for by the host.
void end_now(ContextHandle const& context) noexcept;
/// Work that others submit to the queue from now on comes after the event. Throws `CudaError`.
void hold_back(Queue const& queue, EventHandle const& event, char const* site);

}  // namespace memarray::detail
