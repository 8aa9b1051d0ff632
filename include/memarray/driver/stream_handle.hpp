#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/handle.hpp>

namespace memarray {

/// Returns stream 0, the default stream of the context in which work is submitted. Host work with it is complete when
/// the call returns.
[[nodiscard]] MEMARRAY_API StreamHandle default_stream() noexcept;
/// Returns `CU_STREAM_LEGACY` (1), the default stream that all threads share.
[[nodiscard]] MEMARRAY_API StreamHandle get_legacy_stream() noexcept;
/// Returns `CU_STREAM_PER_THREAD` (2), each thread's default stream.
[[nodiscard]] MEMARRAY_API StreamHandle get_per_thread_stream() noexcept;

/// Creates a stream. `nonblocking`: no implicit synchronization with the legacy stream (`CU_STREAM_NON_BLOCKING`).
/// `priority`: lower runs sooner; the driver clamps it. Submitted work completes after the last handle is dropped.
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle(ContextHandle const& context, bool nonblocking = true,
                                                             int priority = 0) noexcept;
/// If `context` is null, 0, 1 and 2 are the default streams; the driver supplies the context of others
/// (`cuStreamGetCtx`).
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle_ref(cu::Stream stream,
                                                                 ContextHandle context = {}) noexcept;
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle_with_owner(cu::Stream stream, KeepAlive owner,
                                                                        ContextHandle context = {}) noexcept;

/// Returns the stream's context; null for default streams, which every context has, and null handles.
[[nodiscard]] MEMARRAY_API ContextHandle const& context_of(StreamHandle const& stream) noexcept;

}  // namespace memarray
