#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <cstdint>

namespace memarray::detail {

/// A stream with its context and, for the per-thread stream, its thread: a default stream names neither.
struct BoundStream {
  StreamHandle stream;
  ContextHandle context;
  std::uint64_t thread = 0;  ///< `this_thread_number` of a per-thread stream
  bool lasting = true;       ///< `keeps_stream`; if false, the address may be reused

  [[nodiscard]] DriverTable const& driver() const noexcept { return *driver_of(context); }
  /// True only if both are provably one stream.
  [[nodiscard]] MEMARRAY_API bool is(BoundStream const& other) const noexcept;
  /// True for another thread's default stream. No call can name it: its handle means the calling thread's own.
  [[nodiscard]] bool is_another_threads() const noexcept;
};

/// Returns `this_thread_number` for a per-thread default stream, else 0.
[[nodiscard]] std::uint64_t thread_of(StreamHandle const& stream) noexcept;
/// Throws the `ValueError` for a null stream handle.
[[noreturn]] MEMARRAY_API void throw_null_stream();
/// Binds `stream` to its own context, a default stream to `context`. Throws `ValueError` for a null handle or a stream
/// of another device or driver.
[[nodiscard]] MEMARRAY_API BoundStream bind_stream(StreamHandle const& stream, ContextHandle const& context);

/// Orders later work of `bound_stream` after `event`. `SimulatedDevices::waits` shows `site`. Throws `CudaError`.
MEMARRAY_API void wait(BoundStream const& bound_stream, EventHandle const& event, char const* site);
/// Blocks until all work there has completed. False with the last error set on failure.
[[nodiscard]] MEMARRAY_API bool synchronize(BoundStream const& bound_stream) noexcept;
[[nodiscard]] MEMARRAY_API bool synchronize(ContextHandle const& context) noexcept;

/// True if the handle owns its stream, has an owner, or is a default stream without context.
[[nodiscard]] bool keeps_stream(StreamHandle const& stream) noexcept;

}  // namespace memarray::detail
