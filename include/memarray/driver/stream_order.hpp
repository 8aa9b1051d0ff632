#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <optional>

namespace memarray {

/// Makes `event` stand for all work in `stream` so far (`cuEventRecord`). This header's functions set the last error on
/// failure and release the interpreter lock while they block.
[[nodiscard]] MEMARRAY_API bool record(EventHandle const& event, StreamHandle const& stream) noexcept;
/// True if every later call in the context fails, as after a failed kernel. Blocks until its work has ended.
[[nodiscard]] MEMARRAY_API bool is_lost(ContextHandle const& context) noexcept;
/// Makes later work of `stream` wait for `event` on the device (`cuStreamWaitEvent`). Succeeds for a null event.
[[nodiscard]] MEMARRAY_API bool wait(StreamHandle const& stream, EventHandle const& event) noexcept;
/// Blocks until `event` has completed; fails with the error of failed work. Callers report the wait.
[[nodiscard]] MEMARRAY_API bool synchronize(EventHandle const& event) noexcept;
/// Blocks until all work in `stream` has completed. `context` matters for a default stream only.
[[nodiscard]] MEMARRAY_API bool synchronize(StreamHandle const& stream, ContextHandle const& context) noexcept;
/// Blocks until all work in the primary contexts with a handle has completed.
[[nodiscard]] MEMARRAY_API bool synchronize_all() noexcept;
/// True if `event` has completed; `std::nullopt` on failure.
[[nodiscard]] MEMARRAY_API std::optional<bool> query(EventHandle const& event) noexcept;
/// Returns the seconds between two completed events with timing; `std::nullopt` on failure.
[[nodiscard]] MEMARRAY_API std::optional<double> elapsed(EventHandle const& start, EventHandle const& end) noexcept;

namespace detail {

/// Waits in the current context, without setting the last error. All waits for events and streams pass here, where
/// tests count or drop them.
[[nodiscard]] cu::Result wait(DriverTable const& driver, StreamHandle const& stream, EventHandle const& event) noexcept;
[[nodiscard]] cu::Result synchronize(DriverTable const& driver, EventHandle const& event) noexcept;
[[nodiscard]] cu::Result synchronize(DriverTable const& driver, StreamHandle const& stream) noexcept;

}  // namespace detail
}  // namespace memarray
