#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/handle.hpp>

namespace memarray {

/// Returns the default stream, CUDA's stream 0, of the context in which work is submitted. Work on the host with this
/// stream is complete when the call returns.
[[nodiscard]] MEMARRAY_API StreamHandle default_stream() noexcept;
/// Returns the default stream that all threads share: 1, `CU_STREAM_LEGACY`.
[[nodiscard]] MEMARRAY_API StreamHandle get_legacy_stream() noexcept;
/// Returns the default stream of each thread: 2, `CU_STREAM_PER_THREAD`.
[[nodiscard]] MEMARRAY_API StreamHandle get_per_thread_stream() noexcept;

/// Creates a stream in a context. `nonblocking`: no implicit synchronization with the legacy default stream
/// (`CU_STREAM_NON_BLOCKING`). `priority`: a lower number runs sooner; the driver clamps it. Submitted work continues
/// to its end after the last handle is dropped.
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle(ContextHandle const& context, bool nonblocking = true,
                                                             int priority = 0) noexcept;
/// `context` is the stream's context. If it is null, the driver supplies it (`cuStreamGetCtx`); without a `context`, 0,
/// 1 and 2 are the default streams.
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle_ref(cu::Stream stream,
                                                                 ContextHandle context = {}) noexcept;
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle_with_owner(cu::Stream stream, KeepAlive owner,
                                                                        ContextHandle context = {}) noexcept;

/// Returns the context of a stream. Null for the default streams, which every context has, and for a null handle.
[[nodiscard]] MEMARRAY_API ContextHandle const& context_of(StreamHandle const& stream) noexcept;

}  // namespace memarray
