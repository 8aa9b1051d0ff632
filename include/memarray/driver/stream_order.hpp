#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <optional>

namespace memarray {

/// The event stands for the end of all work that is in the stream now. False with the last error set, like the others.
[[nodiscard]] MEMARRAY_API bool record(EventHandle const& event, StreamHandle const& stream) noexcept;
/// Whether the context is of no use any more, as after a kernel that failed: every call says so until the process ends.
/// Its work has ended: blocks until it has.
[[nodiscard]] MEMARRAY_API bool is_lost(ContextHandle const& context) noexcept;
/// Work that is submitted to the stream from now on comes after what the event stands for now. Waits on the device, not
/// here. Nothing is called for a null event.
[[nodiscard]] MEMARRAY_API bool wait(StreamHandle const& stream, EventHandle const& event) noexcept;
/// Blocks, without the interpreter lock, until what the event stands for has ended. The error of work that failed comes
/// out here. Every blocking wait of the library is one of these two, and is reported by its caller.
[[nodiscard]] MEMARRAY_API bool synchronize(EventHandle const& event) noexcept;
[[nodiscard]] MEMARRAY_API bool synchronize(StreamHandle const& stream, ContextHandle const& context) noexcept;
/// The same for all work in the primary contexts that somebody holds a handle of.
[[nodiscard]] MEMARRAY_API bool synchronize_all() noexcept;
/// Whether what the event stands for has ended; `std::nullopt` with the last error set if the driver cannot say.
[[nodiscard]] MEMARRAY_API std::optional<bool> query(EventHandle const& event) noexcept;
/// Seconds between two events with timing whose work has ended; `std::nullopt` with the last error set.
[[nodiscard]] MEMARRAY_API std::optional<double> elapsed(EventHandle const& start, EventHandle const& end) noexcept;

namespace detail {

/// The driver's own waits, for what knows their context and has made it current; all others go through them too, so
/// that a wait is counted, or lost, in one place. They leave the last error alone.
[[nodiscard]] cu::Result wait(DriverTable const& driver, StreamHandle const& stream, EventHandle const& event) noexcept;
[[nodiscard]] cu::Result synchronize(DriverTable const& driver, EventHandle const& event) noexcept;
[[nodiscard]] cu::Result synchronize(DriverTable const& driver, StreamHandle const& stream) noexcept;

}  // namespace detail
}  // namespace memarray
