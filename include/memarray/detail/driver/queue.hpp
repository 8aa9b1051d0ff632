#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <thread>

namespace memarray::detail {

/// A stream together with the context that its work is submitted in: the default streams' names say nothing of that,
/// and one of them means another stream on each thread.
struct Queue {
  StreamHandle stream;
  ContextHandle context;
  std::thread::id thread{};  ///< of a thread's own default stream
  bool lasting = true;       ///< whether the handle keeps the stream; else its address may be another's one day

  [[nodiscard]] DriverTable const& driver() const noexcept { return *driver_of(context); }
  /// Whether both are surely one queue, whose work runs in the order of its submission.
  [[nodiscard]] MEMARRAY_API bool is(Queue const& other) const noexcept;
};

/// `stream` for work on the device of `context`, the one in which a default stream is meant. Throws `ValueError` for a
/// null handle, and for a stream of another device or driver: it says which.
[[nodiscard]] MEMARRAY_API Queue queue_on(StreamHandle const& stream, ContextHandle const& context);

/// Work submitted to `queue` from now on comes after what the event stands for. `site` names the place of the library
/// that waits; simulated devices list it. Throws `CudaError`.
MEMARRAY_API void wait(Queue const& queue, EventHandle const& event, char const* site);
/// Blocks until all work of the queue has ended. False with the last error set.
[[nodiscard]] MEMARRAY_API bool synchronize(Queue const& queue) noexcept;
/// Blocks until all work in the context has ended. False with the last error set.
[[nodiscard]] MEMARRAY_API bool synchronize(ContextHandle const& context) noexcept;

/// Whether the handle itself keeps its stream: it owns it, or has an owner, or it is a default stream.
[[nodiscard]] bool keeps_stream(StreamHandle const& stream) noexcept;

}  // namespace memarray::detail
