#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>

namespace memarray::detail {

/// True if all work on the memory has certainly completed. Blocks only if that cannot be queried.
[[nodiscard]] MEMARRAY_API bool is_over(StreamDependencies& uses) noexcept;

/// True if any thread may free memory in the stream at any later time.
[[nodiscard]] MEMARRAY_API bool can_free_in(BoundStream const& bound_stream, DeviceMemory const& memory) noexcept;

/// Returns a stream ordered after all uses: the last use's, `allocated` without uses, or else the internal one. If no
/// stream can wait, blocks and reports; returns null if that fails too.
[[nodiscard]] MEMARRAY_API StreamHandle order_free(StreamDependencies& uses, StreamHandle const& allocated) noexcept;

}  // namespace memarray::detail
