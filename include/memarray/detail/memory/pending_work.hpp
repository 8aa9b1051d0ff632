#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/detail/memory/device_memory.hpp>

#include <cstdint>

namespace memarray::detail {

enum class Use : std::uint8_t { read, write };

/// Blocks until the work in the queue so far has completed, or else, with a report, all work of its device. Returns
/// false if neither can be waited for.
MEMARRAY_API bool end_now(BoundStream const& queue) noexcept;
bool end_now(ContextHandle const& context) noexcept;

/// Pending work in a queue that uses a piece of memory.
struct PendingWork {
  BoundStream queue;
  EventHandle event;        ///< completes with the work; null: the work has completed
  bool is_unknown = false;  ///< there is no event, and the work may not have completed
};

/// Returns the pending work in the queue so far. Synchronises the context, with a report, if no event can be recorded.
[[nodiscard]] MEMARRAY_API PendingWork end_of(BoundStream const& queue, DeviceMemory& memory) noexcept;
/// Wait site used when pending work could not be recorded (out of memory).
inline constexpr char const* not_remembered = "work that cannot be remembered";

/// Blocks until the event completes. Ignores errors: there is no caller to report them to.
void wait_here(EventHandle const& event, char const* site) noexcept;
/// Makes other users' work submitted to the queue from now on wait for the event. Blocks, with a report, if the queue
/// is another thread's default stream. `site` as in `wait`. Throws `CudaError`.
void hold_back(BoundStream const& queue, EventHandle const& event, char const* site);
/// Makes work submitted to `queue` from now on wait for the work in `other` so far. Throws `CudaError`.
void wait_for_now(BoundStream const& queue, BoundStream const& other, DeviceMemory& memory, char const* site);
/// True if both are the same queue. Both streams must exist, so that an address identifies a stream.
[[nodiscard]] bool is_same_now(BoundStream const& left, BoundStream const& right) noexcept;
/// Like `report_wait`, but does not throw.
void report_blocking(char const* why) noexcept;

}  // namespace memarray::detail
