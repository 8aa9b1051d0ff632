#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <thread>

namespace memarray::detail {

/// A stream and the context of its work, which a default stream's handle does not determine. The per-thread stream also
/// depends on the thread.
struct BoundStream {
  StreamHandle stream;
  ContextHandle context;
  std::thread::id thread{};  ///< set only for the per-thread stream
  bool lasting = true;       ///< `keeps_stream`; otherwise the stream's address may be reused

  [[nodiscard]] DriverTable const& driver() const noexcept { return *driver_of(context); }
  /// True only if both are provably one queue, whose work runs in submission order.
  [[nodiscard]] MEMARRAY_API bool is(BoundStream const& other) const noexcept;
};

/// Returns the queue of `stream` for work on the device of `context`, which also selects a default stream. Throws
/// `ValueError` for a null handle and for a stream of another device or driver.
[[nodiscard]] MEMARRAY_API BoundStream bind_stream(StreamHandle const& stream, ContextHandle const& context);

/// Orders later work of `queue` after the work of `event`. `site` names the caller for `SimulatedDevices::waits`.
/// Throws `CudaError`.
MEMARRAY_API void wait(BoundStream const& queue, EventHandle const& event, char const* site);
/// Blocks until all work of the queue, or in the context, has completed. False with the last error set on failure.
[[nodiscard]] MEMARRAY_API bool synchronize(BoundStream const& queue) noexcept;
[[nodiscard]] MEMARRAY_API bool synchronize(ContextHandle const& context) noexcept;

/// True if the handle owns its stream, has an owner, or is a default stream.
[[nodiscard]] bool keeps_stream(StreamHandle const& stream) noexcept;

}  // namespace memarray::detail
