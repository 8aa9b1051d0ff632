#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/handle.hpp>

namespace memarray {

/// Returns stream 0, the default stream of the context current at submission. Host work with it completes before the
/// call returns.
[[nodiscard]] MEMARRAY_API StreamHandle default_stream() noexcept;
/// Returns `CU_STREAM_LEGACY` (1), the default stream that all threads share.
[[nodiscard]] MEMARRAY_API StreamHandle get_legacy_stream() noexcept;
/// Returns `CU_STREAM_PER_THREAD` (2), the default stream of each thread.
[[nodiscard]] MEMARRAY_API StreamHandle get_per_thread_stream() noexcept;

/// Creates a stream. `nonblocking`: not synchronized with the legacy stream (`CU_STREAM_NON_BLOCKING`). `priority`:
/// lower runs sooner; the driver clamps it. Work completes even after the last handle is dropped.
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle(ContextHandle const& context, bool nonblocking = true,
                                                             int priority = 0) noexcept;
/// Borrows a stream. Without `context`, 0, 1 and 2 are the default streams; `cuStreamGetCtx` supplies that of others.
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle_ref(cu::Stream stream,
                                                                 ContextHandle context = {}) noexcept;
[[nodiscard]] MEMARRAY_API StreamHandle create_stream_handle_with_owner(cu::Stream stream, KeepAlive owner,
                                                                        ContextHandle context = {}) noexcept;

/// Returns the stream's context; null for null handles and default streams, which every context has.
[[nodiscard]] MEMARRAY_API ContextHandle const& context_of(StreamHandle const& stream) noexcept;

}  // namespace memarray
