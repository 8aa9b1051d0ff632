#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/handle.hpp>

namespace memarray {

/// The default stream, CUDA's stream 0, of whatever context work is submitted in. On the host: work that is over when
/// the call returns.
[[nodiscard]] MEMARRAY_API StreamHandle default_stream() noexcept;
/// CUDA's names for the default stream that all threads share (1) and for each thread's own (2).
[[nodiscard]] MEMARRAY_API StreamHandle get_legacy_stream() noexcept;
[[nodiscard]] MEMARRAY_API StreamHandle get_per_thread_stream() noexcept;

/// A stream in a context. `nonblocking`: it does not wait for the default stream, nor that for it. `priority`: lower is
/// sooner; the driver clamps it. When the last handle is gone its work goes on to its end.
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle(ContextHandle const& context, bool nonblocking = true,
                                                             int priority = 0) noexcept;
/// `context`: that of the stream, which the driver is asked for if it is null.
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle_ref(cu::Stream stream,
                                                                 ContextHandle context = {}) noexcept;
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle_with_owner(cu::Stream stream, KeepAlive owner,
                                                                        ContextHandle context = {}) noexcept;

/// The context of a stream; null for the default streams, which every context has.
[[nodiscard]] MEMARRAY_API ContextHandle const& context_of(StreamHandle const& stream) noexcept;

}  // namespace memarray
