#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <thread>

namespace memarray::detail {

/// A stream together with the context in which its work is submitted. The handle of a default stream does not determine
/// the context, and the per-thread stream also depends on the thread.
struct BoundStream {
  StreamHandle stream;
  ContextHandle context;
  std::thread::id thread{};  ///< set only for the per-thread default stream
  bool lasting = true;       ///< the handle keeps the stream alive; otherwise its address may be reused

  [[nodiscard]] DriverTable const& driver() const noexcept { return *driver_of(context); }
  /// True only if both are provably one queue, whose work runs in the order of its submission.
  [[nodiscard]] MEMARRAY_API bool is(BoundStream const& other) const noexcept;
};

/// Returns the queue of `stream` for work on the device of `context`. `context` also selects the default stream. Throws
/// `ValueError` for a null handle, and for a stream of another device or driver, which the message names.
[[nodiscard]] MEMARRAY_API BoundStream bind_stream(StreamHandle const& stream, ContextHandle const& context);

/// Orders work submitted to `queue` from now on after the work that the event stands for. `site` names the code that
/// waits, for `SimulatedDevices::waits`. Throws `CudaError`.
MEMARRAY_API void wait(BoundStream const& queue, EventHandle const& event, char const* site);
/// Blocks until all work of the queue has completed. False with the last error set on failure.
[[nodiscard]] MEMARRAY_API bool synchronize(BoundStream const& queue) noexcept;
/// Blocks until all work in the context has completed. False with the last error set on failure.
[[nodiscard]] MEMARRAY_API bool synchronize(ContextHandle const& context) noexcept;

/// True if the handle keeps its stream alive: it owns the stream, has an owner, or is a default stream.
[[nodiscard]] bool keeps_stream(StreamHandle const& stream) noexcept;

}  // namespace memarray::detail
