#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/detail/memory/device_memory.hpp>

#include <cstdint>

namespace memarray::detail {

enum class Use : std::uint8_t { read, write };

/// Blocks until the work of the stream, or else (reported) of its context, has completed. Returns false on failure.
MEMARRAY_API bool end_now(BoundStream const& bound_stream) noexcept;
bool end_now(ContextHandle const& context) noexcept;

struct PendingWork {
  BoundStream bound_stream;
  EventHandle event;        ///< completes with the work; null: completed
  bool is_unknown = false;  ///< no event, but the work may be pending
};

/// Returns the stream's pending work. Without an event, blocks and reports.
[[nodiscard]] MEMARRAY_API PendingWork end_of(BoundStream const& bound_stream, DeviceMemory& memory) noexcept;
/// Wait site for pending work that could not be recorded.
inline constexpr char const* not_recorded = "work that could not be recorded";

/// Blocks until the event completes. Ignores errors.
void wait_here(EventHandle const& event, char const* site) noexcept;
/// Waits for work that there is no memory to record. Ignores errors.
void wait_unrecorded(PendingWork const& end) noexcept;
/// Like `wait`, but blocks (reported) if the stream is another thread's default stream.
void hold_back(BoundStream const& bound_stream, EventHandle const& event, char const* site);
/// Makes later work in `bound_stream` wait for present work in `other`. Throws `CudaError`.
void wait_for_now(BoundStream const& bound_stream, BoundStream const& other, DeviceMemory& memory, char const* site);
/// Like `BoundStream::is`, for streams that still exist.
[[nodiscard]] bool is_same_now(BoundStream const& left, BoundStream const& right) noexcept;
/// Like `report_wait`, but does not throw.
void report_blocking(char const* why) noexcept;

}  // namespace memarray::detail
