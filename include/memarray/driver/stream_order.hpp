#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <optional>

namespace memarray {

/// Makes the event stand for the completion of all work that is in the stream now (`cuEventRecord`). False with the
/// last error set on failure, like `wait` and `synchronize`.
[[nodiscard]] MEMARRAY_API bool record(EventHandle const& event, StreamHandle const& stream) noexcept;
/// True if the context is unusable, as after a failed kernel: every call in it then fails until the process ends.
/// Blocks until the work in the context has ended.
[[nodiscard]] MEMARRAY_API bool is_lost(ContextHandle const& context) noexcept;
/// Orders work submitted to the stream from now on after the work that the event stands for now (`cuStreamWaitEvent`).
/// Waits on the device and does not block. For a null event it succeeds without calling the driver.
[[nodiscard]] MEMARRAY_API bool wait(StreamHandle const& stream, EventHandle const& event) noexcept;
/// Blocks, with the interpreter lock released, until the work that the event stands for has completed. Failed work
/// reports its error here. The library's callers report each blocking wait.
[[nodiscard]] MEMARRAY_API bool synchronize(EventHandle const& event) noexcept;
/// Blocks, with the interpreter lock released, until all work in the stream has completed. `context` selects the
/// default stream of a context and is ignored for other streams.
[[nodiscard]] MEMARRAY_API bool synchronize(StreamHandle const& stream, ContextHandle const& context) noexcept;
/// Blocks, with the interpreter lock released, until all work in the primary contexts with a handle has completed.
[[nodiscard]] MEMARRAY_API bool synchronize_all() noexcept;
/// True if the work that the event stands for has completed. `std::nullopt` with the last error set on failure.
[[nodiscard]] MEMARRAY_API std::optional<bool> query(EventHandle const& event) noexcept;
/// Returns the seconds between two events with timing whose work has completed. `std::nullopt` with the last error set
/// on failure.
[[nodiscard]] MEMARRAY_API std::optional<double> elapsed(EventHandle const& start, EventHandle const& end) noexcept;

namespace detail {

/// Calls the driver's wait, for callers that have made the right context current. All waits for events and streams go
/// through these functions, so that tests can count or drop a wait in one place. They do not change the last error.
[[nodiscard]] cu::Result wait(DriverTable const& driver, StreamHandle const& stream, EventHandle const& event) noexcept;
[[nodiscard]] cu::Result synchronize(DriverTable const& driver, EventHandle const& event) noexcept;
[[nodiscard]] cu::Result synchronize(DriverTable const& driver, StreamHandle const& stream) noexcept;

}  // namespace detail
}  // namespace memarray
