#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>

namespace memarray::detail {

/// True if all work on the memory is known to have completed. Blocks only if that cannot be queried.
[[nodiscard]] MEMARRAY_API bool is_over(StreamDependencies& uses) noexcept;

/// True if any thread may free memory in the queue at any later time.
[[nodiscard]] MEMARRAY_API bool can_free_in(BoundStream const& queue, DeviceMemory const& memory) noexcept;

/// Returns a stream ordered after all uses: that of the last use, `allocated` without uses, or else the internal
/// stream. Blocks, with a report, if no stream can wait. Returns null if that fails too.
[[nodiscard]] MEMARRAY_API StreamHandle order_free(StreamDependencies& uses, StreamHandle const& allocated) noexcept;

}  // namespace memarray::detail
